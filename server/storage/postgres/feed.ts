import type pg from "pg";
import type { DeletedEvents, Event } from "../../event/event.ts";
import { type ArrivalStamp, compareStamps } from "../../event/id.ts";
import { jsonOf } from "../event-row.ts";
import type { Arrival, Follower } from "../store.ts";
import type { Commit, NoteStart } from "./append.ts";
import { arrivalOf, momentOf, movedOn } from "./arrival.ts";
import type { Query } from "./query.ts";

/** How often it is looked whether a notification was missed. */
const lookMs = 1_000;
/** Between two attempts to connect. */
const firstWaitMs = 100;
const longestWaitMs = 5_000;
/** A connection that does not answer so long is dead, though nobody said so. */
const silenceMs = 10_000;
/** Events that are read at a time. */
const pageEvents = 500;
/** Most that are told after a gap; streams are to begin anew where there are more. */
const gapEventsMax = 10_000;
/** Own commits that wait for those before them; the others are read again. */
const ownMax = 100;
/** Notes of others that wait to be read of; beyond that it is looked what is there. */
const notesMax = 10_000;

/** What a node tells of its commit. */
type Note = NoteStart & { before: ArrivalStamp; last: ArrivalStamp; notified: boolean };

/** What a node tells of events that it deleted. */
type DeletionNote = { node: string; projectId: number; deleted: DeletedEvents };

type Row = {
  ms: number;
  id: string;
  body: string;
  projectId: number;
  arrivalMs: number;
  sequence: number;
  notified: boolean;
};

type Rooms = {
  ask: Query;
  /** Makes a connection of its own that listens; a pooler between would not do. */
  connect: () => pg.Client;
  node: string;
  /** Gives the newest arrival behind a moment, once it is durable. */
  durableArrival: (after: ArrivalStamp) => Promise<ArrivalStamp | null>;
  onError: (error: unknown) => void;
};

/**
 * Tells of what is committed, by this node or another, in the order of arrival. Commits come one after another (append_events), so who has
 * told of an arrival has told of all before it: what is missing is what comes behind it, in whatever way this is heard of.
 */
export class Feed {
  readonly #rooms: Rooms;
  #follower: Follower | null = null;
  /** All that arrived up to here was told. */
  #reached: ArrivalStamp = { ms: 0, sequence: 0 };
  #own: Commit[] = [];
  #notes: Note[] = [];
  #mustLook = false;
  #working: Promise<void> | null = null;
  #client: pg.Client | null = null;
  #timer: Timer | null = null;
  #reconnecting: Timer | null = null;
  #heardAtMs = 0;
  #waitMs = firstWaitMs;
  #isClosed = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /** Tells of what arrives from now on. */
  async follow(follower: Follower): Promise<void> {
    // Tried a second time, it may listen already.
    if (this.#client === null && this.#reconnecting === null) await this.#listen();
    this.#reached = (await this.#rooms.durableArrival(this.#reached)) ?? this.#reached;
    this.#follower = follower;
    follower.reached(this.#reached);
    this.#timer ??= setInterval(() => this.#look(), lookMs);
    this.#timer.unref();
  }

  /** What this node has committed. */
  committed(commit: Commit): void {
    if (!this.#follower) return;
    if (this.#own.push(commit) > ownMax) this.#own.shift();
    this.#wake();
  }

  /** Tells this node and the others that events were deleted. */
  async announceDeleted(projectId: number, deleted: DeletedEvents): Promise<void> {
    this.#follower?.deleted(projectId, deleted);
    const note: DeletionNote = { node: this.#rooms.node, projectId, deleted };
    await this.#rooms
      .ask("SELECT pg_notify(arrivals_channel(), $1)", [JSON.stringify(note)])
      .catch(this.#rooms.onError);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#follower = null;
    if (this.#timer) clearInterval(this.#timer);
    if (this.#reconnecting) clearTimeout(this.#reconnecting);
    await this.#working;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #look(): void {
    const client = this.#client;
    if (client && performance.now() - this.#heardAtMs > silenceMs) {
      this.#lost(client, new Error("The connection that listens does not answer."));
    } else if (client) {
      client.query("SELECT").then(
        () => this.#heard(client),
        (error) => this.#lost(client, error),
      );
    }
    this.#mustLook = true;
    this.#wake();
  }

  #wake(): void {
    this.#working ??= this.#work()
      .catch((error) => {
        // It is looked again in a second.
        if (!this.#isClosed) this.#rooms.onError(error);
      })
      .finally(() => {
        this.#working = null;
        if (this.#follower && this.#isNext(this.#own[0])) this.#wake();
      });
  }

  #isNext(commit: Commit | undefined): boolean {
    return commit !== undefined && compareStamps(commit.before, this.#reached) === 0;
  }

  async #work(): Promise<void> {
    while (this.#follower) {
      const isNews = ({ last }: { last: ArrivalStamp }) => compareStamps(last, this.#reached) > 0;
      this.#own = this.#own.filter(isNews).sort((a, b) => compareStamps(a.last, b.last));
      this.#notes = this.#notes.filter(isNews);
      const own = this.#own[0];
      if (own && this.#isNext(own)) {
        this.#tellOwn(own);
        continue;
      }
      const first = this.#notes[0];
      if (first && compareStamps(first.before, this.#reached) === 0 && !this.#concerns(first)) {
        this.#reach(first.last);
        continue;
      }
      const note = first && this.#notes.reduce(joined);
      // A look has read of it before its answer came: up to the last event that was stored, or as far as the connection held.
      if (own && compareStamps(own.before, this.#reached) < 0) await this.#readUpTo(own.last);
      else if (own && (!note || compareStamps(own.before, note.last) <= 0)) await this.#readUpTo(own.before);
      else if (note) await this.#readUpTo(note.last, note);
      else if (this.#mustLook) {
        this.#mustLook = false;
        const last = await this.#rooms.durableArrival(this.#reached);
        if (last && compareStamps(last, this.#reached) > 0) await this.#readUpTo(last);
      } else return;
    }
  }

  #concerns({ projects, notified }: Note): boolean {
    if (notified || projects === null) return true;
    const followed = new Set(this.#follower!.projects());
    return projects.some((project) => followed.has(project));
  }

  #reach(moment: ArrivalStamp): void {
    this.#reached = moment;
    this.#follower?.reached(moment);
  }

  #tellOwn({ created, shift, last }: Commit): void {
    for (const { event, notified } of created) {
      const { projectId, json, arrival } = event;
      this.#follower?.arrived(
        shift === 0 ? event : { projectId, event: event.event, json, arrival: movedOn(arrival, shift) },
        notified,
      );
    }
    this.#reach(last);
  }

  /** Reads what was committed up to an arrival, and tells of it. */
  async #readUpTo(goal: ArrivalStamp, note?: Note): Promise<void> {
    // Where it is all of one note, the note says in which partitions it is.
    const isWhole = note && compareStamps(note.before, this.#reached) === 0;
    for (let told = 0; this.#follower && compareStamps(this.#reached, goal) < 0; ) {
      const projects = [...this.#follower.projects()];
      const rows = await this.#rooms.ask<Row>(
        `SELECT created_at AS ms, id, body, project_id AS "projectId", arrival >> 20 AS "arrivalMs",
           (arrival & 1048575)::integer AS sequence, notified
         FROM events WHERE arrival > $1 AND arrival <= $2 AND (project_id = ANY ($3::integer[]) OR notified)
           ${isWhole ? "AND created_at BETWEEN $5 AND $6" : ""}
         ORDER BY arrival LIMIT $4`,
        [
          arrivalOf(this.#reached),
          arrivalOf(goal),
          projects,
          pageEvents,
          ...(isWhole ? [note.fromMs, note.toMs] : []),
        ],
      );
      if (!this.#follower) return;
      const asked = new Set(projects);
      // Somebody began to listen to another project meanwhile, and knows of nothing behind what was reached.
      if ([...this.#follower.projects()].some((project) => !asked.has(project))) continue;
      for (const row of rows) this.#follower?.arrived(new StoredArrival(row), row.notified);
      const last = rows.at(-1);
      this.#reach(rows.length < pageEvents ? goal : { ms: last!.arrivalMs, sequence: last!.sequence });
      told += rows.length;
      if (told >= gapEventsMax && compareStamps(this.#reached, goal) < 0) {
        this.#reached = goal;
        this.#follower?.skipped(goal);
      }
    }
  }

  async #listen(): Promise<void> {
    const client = this.#rooms.connect();
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("The connection that listens was closed.")));
    client.on("notification", ({ payload }) => {
      if (this.#client !== client || !payload) return;
      this.#heard(client);
      const note = noteOf(payload);
      // Of its own commits this node hears sooner in another way.
      if (note?.node === this.#rooms.node) return;
      if (note && "deleted" in note) {
        this.#follower?.deleted(note.projectId, note.deleted);
        return;
      }
      if (note) this.#heardOf(note);
      else this.#mustLook = true;
      if (this.#notes.length > notesMax) {
        this.#notes = [];
        this.#mustLook = true;
      }
      this.#wake();
    });
    this.#client = client;
    try {
      await client.connect();
      const { rows } = await client.query<{ channel: string }>("SELECT arrivals_channel() AS channel");
      await client.query(`LISTEN ${client.escapeIdentifier(rows[0]!.channel)}`);
    } catch (error) {
      this.#lost(client, error);
      return;
    }
    this.#heard(client);
    // What was committed before it listened is looked for.
    this.#mustLook = true;
    this.#wake();
  }

  /** Batches that wait for the log at the same time tell of themselves in any order. */
  #heardOf(note: Note): void {
    const at = this.#notes.findLastIndex(({ last }) => compareStamps(last, note.last) < 0);
    this.#notes.splice(at + 1, 0, note);
  }

  #heard(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#heardAtMs = performance.now();
    this.#waitMs = firstWaitMs;
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = null;
    this.#rooms.onError(error);
    client.end().catch(() => {});
    this.#reconnecting = setTimeout(() => void this.#listen(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
  }
}

/** Null for a text that no node of this version sends: whoever may connect to the database may send one. */
function noteOf(payload: string): Note | DeletionNote | null {
  try {
    const note = JSON.parse(payload) as
      | DeletionNote
      | (Omit<Note, "before" | "last"> & { before: string; last: string });
    if ("deleted" in note) return note;
    return { ...note, before: momentOf(note.before), last: momentOf(note.last) };
  } catch {
    return null;
  }
}

/** What two notes say, of which the second is the later one. */
function joined(first: Note, second: Note): Note {
  // Where something is between them, nobody knows when it happened.
  const isGap = compareStamps(first.last, second.before) !== 0;
  return {
    ...second,
    before: first.before,
    fromMs: isGap ? Number.MIN_SAFE_INTEGER : Math.min(first.fromMs, second.fromMs),
    toMs: isGap ? Number.MAX_SAFE_INTEGER : Math.max(first.toMs, second.toMs),
  };
}

/** An event that was read; it is parsed where somebody asks for what it holds. */
class StoredArrival implements Arrival {
  readonly projectId: number;
  readonly json: string;
  readonly arrival: ArrivalStamp;
  #event: Event | null = null;

  constructor({ projectId, id, body, ms, arrivalMs, sequence }: Row) {
    this.projectId = projectId;
    this.json = jsonOf(id, body, ms);
    this.arrival = { ms: arrivalMs, sequence };
  }

  get event(): Event {
    this.#event ??= JSON.parse(this.json) as Event;
    return this.#event;
  }
}

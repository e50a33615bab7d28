import type pg from "pg";
import type { DeletedEvents, Event } from "../../event/event.ts";
import { type ArrivalStamp, compareStamps } from "../../event/id.ts";
import { jsonOf } from "../event-row.ts";
import type { AccountMessage, Arrival, Follower } from "../event-store.ts";
import type { Commit, NoteStart } from "./append.ts";
import { arrivalOf, shiftStamp, stampOf } from "./arrival.ts";
import type { Query } from "./query.ts";

/** The interval of checks for missed notifications. */
const checkMs = 1_000;
/** The pause between two attempts to connect. */
const firstWaitMs = 100;
const longestWaitMs = 5_000;
/** A connection that does not answer for this long is dead. */
const silenceMaxMs = 10_000;
/** Events per query. */
const pageEvents = 500;
/** Events reported after a gap. If there are more, they are skipped and streams have to start again. */
const gapEventsMax = 10_000;
/**
 * Own commits kept in memory until those before them are reported. Beyond this, the oldest are read from the database.
 */
const ownCommitsMax = 100;
/** IDs of deleted events in one note: PostgreSQL allows 8,000 bytes. */
const deletedIdsMax = 100;
/** Other nodes' notes that wait. Beyond this they are dropped, and the feed checks the database. */
const notesMax = 10_000;

/** A node's notification about its commit. */
type Note = NoteStart & { before: ArrivalStamp; last: ArrivalStamp; notified: boolean };

/** A node's notification about events that it deleted. */
type DeletionNote = { node: string; projectId: number; deleted: DeletedEvents };

/** A node's message for an account's streams. */
type AccountNote = { node: string; account: AccountMessage };

type Row = {
  ms: number;
  id: string;
  body: string;
  projectId: number;
  arrivalMs: number;
  sequence: number;
  notified: boolean;
};

type Deps = {
  runQuery: Query;
  /** Makes a connection that listens. It is not from the pool, and must not go through a pooler. */
  connect: () => pg.Client;
  node: string;
  /** The newest arrival after a stamp, once it is durable. */
  durableArrival: (after: ArrivalStamp) => Promise<ArrivalStamp | null>;
  onError: (error: unknown) => void;
};

/**
 * Reports what this and other nodes commit, in the order of arrival (`append_events`).
 *
 * Invariant: commits of events follow one another, whichever node makes them. Once a node reports an arrival, it has
 * reported all before it. Checked by `server/storage/postgres/feed.test.ts`.
 */
export class Feed {
  readonly #deps: Deps;
  #follower: Follower | null = null;
  /** Everything up to this arrival was reported. */
  #reached: ArrivalStamp = { ms: 0, sequence: 0 };
  #ownCommits: Commit[] = [];
  #notes: Note[] = [];
  #mustCheck = false;
  #catchingUp: Promise<void> | null = null;
  #client: pg.Client | null = null;
  #timer: Timer | null = null;
  #reconnecting: Timer | null = null;
  #lastResponseMs = 0;
  /** Whether the connection has a statement to answer. It gets one at a time. */
  #isAsked = false;
  #waitMs = firstWaitMs;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Reports what arrives from now on. */
  async follow(follower: Follower): Promise<void> {
    // After a failed first call, it can be listening already.
    if (this.#client === null && this.#reconnecting === null) await this.#listen();
    this.#reached = (await this.#deps.durableArrival(this.#reached)) ?? this.#reached;
    this.#follower = follower;
    follower.reached(this.#reached);
    this.#timer ??= setInterval(() => this.#check(), checkMs);
    this.#timer.unref();
  }

  /** Call it for each commit of this node. */
  committed(commit: Commit): void {
    if (!this.#follower) return;
    if (this.#ownCommits.push(commit) > ownCommitsMax) this.#ownCommits.shift();
    this.#wake();
  }

  /** Tells this and the other nodes that events were deleted. */
  async announceDeleted(projectId: number, deleted: DeletedEvents): Promise<void> {
    this.#follower?.deleted(projectId, deleted);
    for (const part of partsOf(deleted)) {
      const note: DeletionNote = { node: this.#deps.node, projectId, deleted: part };
      await this.#notify(note);
    }
  }

  /** Tells this and the other nodes something for an account. */
  async tellAccount(account: AccountMessage): Promise<void> {
    this.#follower?.told(account);
    const note: AccountNote = { node: this.#deps.node, account };
    await this.#notify(note);
  }

  /** Commits of events wait for that of a notification, which therefore doesn't wait for the disk. */
  async #notify(note: DeletionNote | AccountNote): Promise<void> {
    await this.#deps
      .runQuery("SELECT set_config('synchronous_commit', 'off', true), pg_notify(arrivals_channel(), $1)", [
        JSON.stringify(note),
      ])
      .catch(this.#deps.onError);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#follower = null;
    if (this.#timer) clearInterval(this.#timer);
    if (this.#reconnecting) clearTimeout(this.#reconnecting);
    await this.#catchingUp;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #check(): void {
    const client = this.#client;
    if (client && performance.now() - this.#lastResponseMs > silenceMaxMs) {
      this.#lost(client, new Error("The connection that listens does not answer."));
    } else if (client && !this.#isAsked) {
      this.#isAsked = true;
      client.query("SELECT").then(
        () => this.#noteResponse(client),
        (error) => this.#lost(client, error),
      );
    }
    this.#mustCheck = true;
    this.#wake();
  }

  #wake(): void {
    this.#catchingUp ??= this.#catchUp()
      .catch((error) => {
        // The next check is within a second.
        if (!this.#isClosed) this.#deps.onError(error);
      })
      .finally(() => {
        this.#catchingUp = null;
        if (this.#follower && this.#isNext(this.#ownCommits[0])) this.#wake();
      });
  }

  #isNext(commit: Commit | undefined): boolean {
    return commit !== undefined && compareStamps(commit.before, this.#reached) === 0;
  }

  async #catchUp(): Promise<void> {
    while (this.#follower) {
      const isUnreported = ({ last }: { last: ArrivalStamp }) => compareStamps(last, this.#reached) > 0;
      this.#ownCommits = this.#ownCommits.filter(isUnreported).sort((a, b) => compareStamps(a.last, b.last));
      this.#notes = this.#notes.filter(isUnreported);
      const own = this.#ownCommits[0];
      if (own && this.#isNext(own)) {
        this.#reportOwn(own);
        continue;
      }
      const first = this.#notes[0];
      if (first && compareStamps(first.before, this.#reached) === 0 && !this.#isRelevant(first)) {
        this.#advanceTo(first.last);
        continue;
      }
      const note = first && this.#notes.reduce(mergeNotes);
      // Some of the own commit was read from the database before its answer came: read the rest there, too.
      if (own && compareStamps(own.before, this.#reached) < 0) await this.#readUpTo(own.last);
      else if (own && (!note || compareStamps(own.before, note.last) <= 0)) await this.#readUpTo(own.before);
      else if (note) await this.#readUpTo(note.last, note);
      else if (this.#mustCheck) {
        this.#mustCheck = false;
        const last = await this.#deps.durableArrival(this.#reached);
        if (last && compareStamps(last, this.#reached) > 0) await this.#readUpTo(last);
      } else return;
    }
  }

  #isRelevant({ projects, notified }: Note): boolean {
    if (notified || projects === null) return true;
    const followed = new Set(this.#follower!.projects());
    return projects.some((project) => followed.has(project));
  }

  #advanceTo(stamp: ArrivalStamp): void {
    this.#reached = stamp;
    this.#follower?.reached(stamp);
  }

  #reportOwn({ created, shift, last }: Commit): void {
    for (const event of created) {
      const { projectId, json, arrival, notifies } = event;
      this.#follower?.arrived(
        shift === 0 ? event : { projectId, event: event.event, json, arrival: shiftStamp(arrival, shift) },
        notifies,
      );
    }
    this.#advanceTo(last);
  }

  /** Reads and reports what was committed up to an arrival. */
  async #readUpTo(goal: ArrivalStamp, note?: Note): Promise<void> {
    // If the range is that of the note, the note's times select the partitions.
    const isWhole = note && compareStamps(note.before, this.#reached) === 0;
    for (let reported = 0; this.#follower && compareStamps(this.#reached, goal) < 0; ) {
      const projects = [...this.#follower.projects()];
      const rows = await this.#deps.runQuery<Row>(
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
      const queried = new Set(projects);
      // A stream of another project has started since, and needs events from `#reached` on: read again.
      if ([...this.#follower.projects()].some((project) => !queried.has(project))) continue;
      for (const row of rows) this.#follower?.arrived(new StoredArrival(row), row.notified);
      const last = rows.at(-1);
      this.#advanceTo(rows.length < pageEvents ? goal : { ms: last!.arrivalMs, sequence: last!.sequence });
      reported += rows.length;
      if (reported >= gapEventsMax && compareStamps(this.#reached, goal) < 0) {
        this.#reached = goal;
        this.#follower?.skipped(goal);
      }
    }
  }

  async #listen(): Promise<void> {
    const client = this.#deps.connect();
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("The connection that listens was closed.")));
    client.on("notification", ({ payload }) => {
      if (this.#client !== client || !payload) return;
      this.#lastResponseMs = performance.now();
      const note = noteOf(payload);
      // `committed` reports the node's own commits sooner.
      if (note?.node === this.#deps.node) return;
      if (note && "deleted" in note) {
        this.#follower?.deleted(note.projectId, note.deleted);
        return;
      }
      if (note && "account" in note) {
        this.#follower?.told(note.account);
        return;
      }
      if (note) this.#addNote(note);
      else this.#mustCheck = true;
      if (this.#notes.length > notesMax) {
        this.#notes = [];
        this.#mustCheck = true;
      }
      this.#wake();
    });
    this.#client = client;
    // Its silence begins now, however long the last connection was silent: connecting takes time, too.
    this.#lastResponseMs = performance.now();
    this.#isAsked = true;
    try {
      await client.connect();
      const { rows } = await client.query<{ channel: string }>("SELECT arrivals_channel() AS channel");
      await client.query(`LISTEN ${client.escapeIdentifier(rows[0]!.channel)}`);
    } catch (error) {
      this.#lost(client, error);
      return;
    }
    this.#noteResponse(client);
    // Check for what was committed before it listened.
    this.#mustCheck = true;
    this.#wake();
  }

  /** Inserts a note in order: batches that wait for the log at the same time can notify in any order. */
  #addNote(note: Note): void {
    const at = this.#notes.findLastIndex(({ last }) => compareStamps(last, note.last) < 0);
    this.#notes.splice(at + 1, 0, note);
  }

  #noteResponse(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#isAsked = false;
    this.#lastResponseMs = performance.now();
    this.#waitMs = firstWaitMs;
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = null;
    this.#deps.onError(error);
    client.end().catch(() => {});
    this.#reconnecting = setTimeout(() => void this.#listen(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
  }
}

/** Null for any other text: everyone who can connect to the database can send one. */
function noteOf(payload: string): Note | DeletionNote | AccountNote | null {
  try {
    const note = JSON.parse(payload) as
      | DeletionNote
      | AccountNote
      | (Omit<Note, "before" | "last"> & { before: string; last: string });
    if ("deleted" in note || "account" in note) return note;
    return { ...note, before: stampOf(note.before), last: stampOf(note.last) };
  } catch {
    return null;
  }
}

/** Combines two notes; the second is the later one. */
function mergeNotes(first: Note, second: Note): Note {
  // If there is a gap between them, the times of its events are unknown.
  const isGap = compareStamps(first.last, second.before) !== 0;
  return {
    ...second,
    before: first.before,
    fromMs: isGap ? Number.MIN_SAFE_INTEGER : Math.min(first.fromMs, second.fromMs),
    toMs: isGap ? Number.MAX_SAFE_INTEGER : Math.max(first.toMs, second.toMs),
  };
}

/** An event from the database. Its JSON is parsed on first use. */
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

/** What is announced in one note each. */
function partsOf(deleted: DeletedEvents): DeletedEvents[] {
  if (!("ids" in deleted)) return [deleted];
  const { ids } = deleted;
  return Array.from({ length: Math.ceil(ids.length / deletedIdsMax) }, (_, n) => ({
    ids: ids.slice(n * deletedIdsMax, (n + 1) * deletedIdsMax),
  }));
}

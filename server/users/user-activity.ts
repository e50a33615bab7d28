import { Leases } from "../background/leases.ts";
import type { Event } from "../event/event.ts";
import { type ArrivalStamp, compareStamps } from "../event/id.ts";
import { outsideRequests } from "../scheduling/deadline.ts";
import type { Pause } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";
import { type ActivityEntry, entriesOfPeople, insertEntries } from "./activity-entries.ts";
import { checkUsers } from "./check-users.ts";
import { repairTimes } from "./repair-times.ts";

/** Events read in one step. Pages wait for it, in the reader and then, while it is parsed, in the HTTP thread. */
const stepEvents = 500;
/** Entries of users that one commit changes, and projects whose position it changes. */
const commitUsers = 100;
const commitProjects = 50;
/** How often to look for events that arrived on another node or were not asked for. */
const pollMs = 5_000;
/** After each step, the next one waits four times as long as the step took, as nobody waits for it. */
const restRatio = 4;
const restMsMax = 500;
/** A project without new events is read from here on at the latest, so that reading doesn't begin at its last event. */
const positionLagMs = 60 * 60 * 1_000;

/** Thrown when the server stops, or when another node may have taken over. */
class Stopped extends Error {}

/** The events up to a position are counted. */
type Position = ArrivalStamp & { removals: number };
/** The additions of one commit: entries, and the positions before and after. */
type Addition = { entries: ActivityEntry[]; moves: Map<number, { from: Position; to: ArrivalStamp }> };

type Deps = { store: Store; onError: (error: unknown) => void };

/**
 * Keeps what the list of users is sorted by: the number of each user's events, the first and the last. Recording
 * doesn't touch it: this reads the events that arrived, of all projects in turns, and adds them up. Removals subtract
 * from it in their own commit. One node does it at a time.
 */
export class UserActivity {
  readonly #deps: Deps;
  readonly #leases: Leases;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #isClosed = false;
  #stepStartedMs = 0;
  /** All events up to here are counted. */
  #updatedTo: ArrivalStamp | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#leases = new Leases(deps.store.control, deps.onError);
  }

  /** Counts new events, now and whenever there are some. */
  start(): void {
    if (this.#isClosed) return;
    if (this.#timer) clearTimeout(this.#timer);
    // A request that asks for the newest events can end earlier.
    this.#running ??= outsideRequests(() =>
      this.#run()
        .catch((error) => {
          if (!(error instanceof Stopped)) this.#deps.onError(error);
        })
        .finally(() => {
          this.#running = null;
          if (this.#isClosed) return;
          this.#timer = setTimeout(() => this.start(), pollMs);
          this.#timer.unref();
        }),
    );
  }

  /** Resolves when the events that arrived before are counted, or after a while if there are many. */
  async update(withinMs: number): Promise<void> {
    if (!(await this.#isBehind())) return;
    // The current run may have read the project before its newest event.
    const running = this.#running;
    this.start();
    const counted = async () => {
      await running;
      this.start();
      await this.#running;
    };
    await Promise.race([counted(), Bun.sleep(withinMs)]);
  }

  /** Resolves when there is nothing left to do. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Ends after the current step. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#running;
  }

  async #isBehind(): Promise<boolean> {
    const last = await this.#deps.store.events.lastArrival();
    return last !== null && (this.#updatedTo === null || compareStamps(last, this.#updatedTo) > 0);
  }

  async #run(): Promise<void> {
    const { store } = this.#deps;
    if (!(await this.#isBehind()) && !(await this.#hasRepairs())) return;
    await this.#leases.whileHeld("user activity", async (isHeld) => {
      const pause = () => this.#pause(isHeld);
      this.#stepStartedMs = performance.now();
      for (;;) {
        await this.#addAll(pause);
        while (await repairTimes(store)) await pause();
        // New events go before the next users to check.
        if (!(await checkUsers(store)) && !(await this.#isBehind())) return;
        await pause();
      }
    });
  }

  /** Whether there is something to do without new events. */
  async #hasRepairs(): Promise<boolean> {
    const { control } = this.#deps.store;
    const stale = control.selectFrom("userActivity").select("projectId").where("stale", ">", 0).limit(1);
    const unchecked = control
      .selectFrom("userActivityPositions")
      .select("projectId")
      .where("checkedTo", "is not", null)
      .limit(1);
    return (await stale.execute()).length > 0 || (await unchecked.execute()).length > 0;
  }

  /** Counts the new events of all projects: a step of each, then the next step of those that have more. */
  async #addAll(pause: Pause): Promise<void> {
    const last = await this.#deps.store.events.lastArrival();
    if (last === null) return;
    let projects = await this.#projectsAfter(last);
    while (projects.length > 0) {
      const withMore: number[] = [];
      let addition: Addition = { entries: [], moves: new Map() };
      const commit = async () => {
        if (addition.moves.size > 0) await this.#commit(addition);
        addition = { entries: [], moves: new Map() };
        await pause();
      };
      for (const { id, position } of projects) {
        const arrived = await this.#deps.store.events.arrivedAfter(id, position, stepEvents);
        if (arrived.length > 0) withMore.push(id);
        else if (last.ms - position.ms > positionLagMs) addition.moves.set(id, { from: position, to: last });
        let from = position;
        let entries = new Map<string, ActivityEntry>();
        for (const { arrival, json } of arrived) {
          addTo(entries, id, JSON.parse(json) as Event);
          addition.moves.set(id, { from, to: arrival });
          if (entries.size + addition.entries.length < commitUsers) continue;
          addition.entries.push(...entries.values());
          await commit();
          from = { ...arrival, removals: from.removals };
          entries = new Map();
        }
        addition.entries.push(...entries.values());
        if (addition.moves.size >= commitProjects) await commit();
      }
      await commit();
      const more = new Set(withMore);
      projects = more.size > 0 ? (await this.#projectsAfter(last)).filter(({ id }) => more.has(id)) : [];
    }
    this.#updatedTo = last;
  }

  /** The projects whose position is before an arrival. */
  async #projectsAfter(last: ArrivalStamp): Promise<{ id: number; position: Position }[]> {
    const rows = await this.#deps.store.control
      .selectFrom("projects")
      .leftJoin("userActivityPositions as position", "position.projectId", "projects.id")
      .select(["projects.id", "position.ms", "position.sequence", "position.removals"])
      .where("projects.deletedAt", "is", null)
      .execute();
    return rows
      .map(({ id, ms, sequence, removals }) => ({
        id,
        position: { ms: ms ?? 0, sequence: sequence ?? 0, removals: removals ?? 0 },
      }))
      .filter(({ position }) => compareStamps(position, last) < 0);
  }

  /**
   * Adds to entries, and moves the positions. Of a project whose position was moved, or of which uncounted events were
   * removed, nothing is added: they are read again.
   */
  async #commit({ entries, moves }: Addition): Promise<void> {
    const { store } = this.#deps;
    const projects = [...moves.keys()];
    const positions = (rows: { projectId: number; ms: number; sequence: number; changes: number }[]) =>
      store.rowsOf("userActivityPositions", ["projectId", "ms", "sequence", "changes"], rows);
    await store.together("user-activity", async (transaction) => {
      // Locks the positions, where transactions run beside each other, and makes missing ones.
      await transaction
        .insertInto("userActivityPositions")
        .columns(["projectId", "ms", "sequence", "changes"])
        .expression(positions(projects.map((projectId) => ({ projectId, ms: 0, sequence: 0, changes: 0 }))))
        .onConflict((conflict) =>
          conflict
            .column("projectId")
            .doUpdateSet((eb) => ({ removals: eb.ref("userActivityPositions.removals") })),
        )
        .execute();
      const known = await transaction
        .selectFrom("userActivityPositions")
        .select(["projectId", "ms", "sequence", "removals"])
        .where("projectId", "in", projects)
        .execute();
      const knownOf = new Map(known.map((row) => [row.projectId, row]));
      const isCurrent = (projectId: number) => {
        const { from } = moves.get(projectId)!;
        const { ms, sequence, removals } = knownOf.get(projectId) ?? { ms: 0, sequence: 0, removals: 0 };
        return from.ms === ms && from.sequence === sequence && from.removals === removals;
      };
      const current = projects.filter(isCurrent);
      if (current.length === 0) return;
      const added = await entriesOfPeople(
        transaction,
        entries.filter(({ projectId }) => isCurrent(projectId)),
      );
      if (added.length > 0)
        await insertEntries(store, transaction, added)
          .onConflict((conflict) =>
            conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => {
              const own = "userActivity" as const;
              return {
                events: eb(`${own}.events`, "+", eb.ref("excluded.events")),
                firstAt: eb
                  .case()
                  .when("excluded.firstAt", "<", eb.ref(`${own}.firstAt`))
                  .then(eb.ref("excluded.firstAt"))
                  .else(eb.ref(`${own}.firstAt`))
                  .end(),
                lastAt: eb
                  .case()
                  .when("excluded.lastAt", ">", eb.ref(`${own}.lastAt`))
                  .then(eb.ref("excluded.lastAt"))
                  .else(eb.ref(`${own}.lastAt`))
                  .end(),
                // Times that are being looked up may not include these events.
                stale: eb
                  .case()
                  .when(`${own}.stale`, ">", 0)
                  .then(eb(`${own}.stale`, "+", 1))
                  .else(0)
                  .end(),
              };
            }),
          )
          .execute();
      const withUsers = new Set(added.map(({ projectId }) => projectId));
      await transaction
        .insertInto("userActivityPositions")
        .columns(["projectId", "ms", "sequence", "changes"])
        .expression(
          positions(
            current.map((projectId) => {
              const { ms, sequence } = moves.get(projectId)!.to;
              return { projectId, ms, sequence, changes: withUsers.has(projectId) ? 1 : 0 };
            }),
          ),
        )
        .onConflict((conflict) =>
          conflict.column("projectId").doUpdateSet((eb) => ({
            ms: eb.ref("excluded.ms"),
            sequence: eb.ref("excluded.sequence"),
            changes: eb("userActivityPositions.changes", "+", eb.ref("excluded.changes")),
          })),
        )
        .execute();
    });
  }

  async #pause(isHeld: () => boolean): Promise<void> {
    if (this.#isClosed) throw new Stopped();
    const tookMs = performance.now() - this.#stepStartedMs;
    await Bun.sleep(Math.min(tookMs * restRatio, restMsMax));
    if (this.#isClosed || !isHeld()) throw new Stopped();
    this.#stepStartedMs = performance.now();
  }
}

function addTo(entries: Map<string, ActivityEntry>, projectId: number, { userId, createdAt }: Event): void {
  if (userId === "") return;
  const ms = Date.parse(createdAt);
  const entry = entries.get(userId);
  if (!entry) {
    entries.set(userId, { projectId, userId, events: 1, firstAt: ms, lastAt: ms });
    return;
  }
  entry.events++;
  entry.firstAt = Math.min(entry.firstAt, ms);
  entry.lastAt = Math.max(entry.lastAt, ms);
}

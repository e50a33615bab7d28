import { type Kysely, sql } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** A visit of a website. It ends when its visitor does nothing for half an hour. */
export type Visit = {
  /** In the tag `session` of its events. */
  session: string;
  /** Whether a page was viewed. */
  isEntered: boolean;
  /** Milliseconds since 1970 of the last activity. */
  seenAtMs: number;
};
type KnownVisit = Visit & { projectId: number; visitor: string };
type Claim = { projectId: number; visitor: string; atMs: number; found: PromiseWithResolvers<KnownVisit> };

/** Visits in memory. Those that were not used for longest are read again from the database. */
const visitsMax = 100_000;
/** Visits that are begun in one transaction. */
const togetherMax = 200;

/**
 * The visits that may go on. They begin in the database, so that nodes share them and a restart continues them. Their
 * activity is saved from time to time: a node that takes over may end a visit a minute too early.
 */
export class Visits {
  readonly #control: Kysely<ControlTables>;
  readonly #visits = new LRUCache<string, KnownVisit>({
    max: visitsMax,
    ttl: limits.visitKeptMs,
    updateAgeOnGet: true,
  });
  /** By visitor: a later visit replaces one that is over. */
  readonly #changed = new Map<string, KnownVisit>();
  readonly #claims = new Map<string, Claim>();
  #claiming: Promise<void> | null = null;

  constructor(control: Kysely<ControlTables>) {
    this.#control = control;
  }

  /** The visit that goes on at a time, or a new one. Call `see` with what happens in it. */
  at(projectId: number, visitor: string, atMs: number): Visit | Promise<Visit> {
    const key = keyOf(projectId, visitor);
    const known = this.#visits.get(key);
    if (known && atMs - known.seenAtMs < limits.visitIdleMs) return known;
    let claim = this.#claims.get(key);
    if (!claim) {
      claim = { projectId, visitor, atMs, found: Promise.withResolvers() };
      this.#claims.set(key, claim);
      this.#claiming ??= this.#claimAll().finally(() => {
        this.#claiming = null;
      });
    }
    return claim.found.promise;
  }

  /** Keeps a visitor's visit going if it isn't over, and returns the last one, if this node knows it. */
  keep(projectId: number, visitor: string, atMs: number): Visit | undefined {
    const known = this.#visits.get(keyOf(projectId, visitor));
    if (known && atMs - known.seenAtMs < limits.visitIdleMs) this.see(known, atMs, false);
    return known;
  }

  /** Records activity, and whether it is the view of a page. Returns whether that is the first one: the entry. */
  see(visit: Visit, atMs: number, isView: boolean): boolean {
    const known = visit as KnownVisit;
    known.seenAtMs = Math.max(known.seenAtMs, atMs);
    const isEntry = isView && !known.isEntered;
    known.isEntered ||= isView;
    this.#changed.set(keyOf(known.projectId, known.visitor), known);
    return isEntry;
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Saves the activity since the last call, and deletes visits that are over for long. */
  async save(nowMs: number): Promise<void> {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (let start = 0; start < changed.length; start += togetherMax) {
      try {
        await this.#upsert(changed.slice(start, start + togetherMax));
      } catch (error) {
        for (const visit of changed.slice(start)) {
          const key = keyOf(visit.projectId, visit.visitor);
          if (!this.#changed.has(key)) this.#changed.set(key, visit);
        }
        throw error;
      }
    }
    await this.#control
      .deleteFrom("websiteVisits")
      .where("seenAt", "<", nowMs - limits.visitKeptMs)
      .execute();
  }

  /** Whether the database has visits. */
  async isEmpty(): Promise<boolean> {
    return !(await this.#control.selectFrom("websiteVisits").select("visitor").limit(1).executeTakeFirst());
  }

  async #claimAll(): Promise<void> {
    // Requests of the same moment share the transaction.
    await Promise.resolve();
    while (this.#claims.size > 0) {
      const claims = [...this.#claims.values()].slice(0, togetherMax);
      try {
        const rows = await this.#upsert(
          claims.map(({ projectId, visitor, atMs }) => ({
            ...{ projectId, visitor, session: newSession(), isEntered: false, seenAtMs: atMs },
          })),
        );
        const visits = new Map(rows.map((row) => [keyOf(row.projectId, row.visitor), row]));
        for (const { projectId, visitor, found } of claims) {
          const key = keyOf(projectId, visitor);
          const { session, entered, seenAt } = visits.get(key)!;
          const visit = { projectId, visitor, session, isEntered: entered === 1, seenAtMs: Number(seenAt) };
          this.#visits.set(key, visit);
          this.#claims.delete(key);
          found.resolve(visit);
        }
      } catch (error) {
        for (const { projectId, visitor, found } of claims) {
          this.#claims.delete(keyOf(projectId, visitor));
          found.reject(error);
        }
      }
    }
  }

  /** Stores visits. One that goes on, on this node or another, keeps its session. */
  #upsert(visits: readonly KnownVisit[]) {
    const goesOn = sql<boolean>`website_visits.seen_at > excluded.seen_at - ${sql.lit(limits.visitIdleMs)}`;
    return this.#control
      .insertInto("websiteVisits")
      .values(
        visits
          // In one order, so that two nodes don't wait for each other.
          .toSorted((a, b) => a.projectId - b.projectId || (a.visitor < b.visitor ? -1 : 1))
          .map(({ projectId, visitor, session, isEntered, seenAtMs }) => ({
            ...{ projectId, visitor, session, entered: isEntered ? 1 : 0, seenAt: seenAtMs },
          })),
      )
      .onConflict((conflict) =>
        conflict.columns(["projectId", "visitor"]).doUpdateSet({
          session: sql`case when ${goesOn} then website_visits.session else excluded.session end`,
          entered: sql`case when ${goesOn} and website_visits.entered > excluded.entered then website_visits.entered else excluded.entered end`,
          seenAt: sql`case when website_visits.seen_at > excluded.seen_at then website_visits.seen_at else excluded.seen_at end`,
        }),
      )
      .returning(["projectId", "visitor", "session", "entered", "seenAt"])
      .execute();
  }
}

function keyOf(projectId: number, visitor: string): string {
  return `${projectId} ${visitor}`;
}

function newSession(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
}

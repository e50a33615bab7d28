import { type Selectable, sql } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import type { Store } from "../storage/store.ts";
import type { WebsiteTables } from "../storage/website-tables.ts";

/** A visit of a website. It ends when its visitor does nothing for half an hour. */
export type Visit = {
  /** In the tag `session` of its events. */
  session: string;
  /** The event with which it was entered: its first view of a page. */
  entryId: string | null;
  /** Milliseconds since 1970 of the last activity. */
  seenAtMs: number;
};
type KnownVisit = Visit & { projectId: number; visitor: string };
type Claim = KnownVisit & { found: PromiseWithResolvers<KnownVisit> };

/** Visits in memory. Those that were not used for longest are read again from the database. */
const visitsMax = 100_000;
/** Visits that are begun in one transaction. */
const togetherMax = 200;

/**
 * The visits that may go on. They begin in the database, and their entry is stored there, so that nodes share them and a
 * restart continues them. Their activity is saved from time to time: a node that takes over may end a visit a minute too
 * early.
 */
export class Visits {
  readonly #store: Pick<Store, "control" | "rowsOf">;
  readonly #visits = new LRUCache<string, KnownVisit>({
    max: visitsMax,
    ttl: limits.visitKeptMs,
    updateAgeOnGet: true,
  });
  /** By visitor: a later visit replaces one that is over. */
  readonly #changed = new Map<string, KnownVisit>();
  readonly #claims = new Map<string, Claim>();
  #claiming: Promise<void> | null = null;

  constructor(store: Pick<Store, "control" | "rowsOf">) {
    this.#store = store;
  }

  /**
   * The visit that goes on at a time, or a new one. Call `see` with what happens in it.
   *
   * @param viewId - of the event, if it is the view of a page. It is the visit's entry if there was none before.
   */
  async at(projectId: number, visitor: string, atMs: number, viewId: string | null): Promise<Visit> {
    const known = this.#known(projectId, visitor);
    const goesOn = known && atMs - known.seenAtMs < limits.visitIdleMs;
    if (goesOn && (viewId === null || known.entryId !== null)) return known;
    const visit = await this.#claim({
      ...{ projectId, visitor, entryId: viewId },
      session: goesOn ? known.session : newSession(),
      seenAtMs: atMs,
    });
    // A request of the same moment, with no view, can have come first.
    return viewId !== null && visit.entryId === null ? this.at(projectId, visitor, atMs, viewId) : visit;
  }

  /** The last visit of a visitor, if it is known. Call `see` if it goes on. */
  async last(projectId: number, visitor: string): Promise<Visit | null> {
    const known = this.#known(projectId, visitor);
    if (known) return known;
    const row = await this.#store.control
      .selectFrom("websiteVisits")
      .select(["projectId", "visitor", "session", "entryId", "seenAt"])
      .where("projectId", "=", projectId)
      .where("visitor", "=", visitor)
      .executeTakeFirst();
    return row ? this.#remember(row) : null;
  }

  /** Records activity in a visit that goes on. */
  see(visit: Visit, atMs: number): void {
    const known = visit as KnownVisit;
    if (atMs - known.seenAtMs >= limits.visitIdleMs) return;
    known.seenAtMs = Math.max(known.seenAtMs, atMs);
    this.#changed.set(keyOf(known.projectId, known.visitor), known);
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
        await this.#saveActivity(changed.slice(start, start + togetherMax));
      } catch (error) {
        for (const visit of changed.slice(start)) {
          const key = keyOf(visit.projectId, visit.visitor);
          if (!this.#changed.has(key)) this.#changed.set(key, visit);
        }
        throw error;
      }
    }
    await this.#store.control
      .deleteFrom("websiteVisits")
      .where("seenAt", "<", nowMs - limits.visitKeptMs)
      .execute();
  }

  /** Whether the database has visits. */
  async isEmpty(): Promise<boolean> {
    const { control } = this.#store;
    return !(await control.selectFrom("websiteVisits").select("visitor").limit(1).executeTakeFirst());
  }

  #known(projectId: number, visitor: string): KnownVisit | undefined {
    const key = keyOf(projectId, visitor);
    return this.#visits.get(key) ?? this.#changed.get(key);
  }

  #remember({
    projectId,
    visitor,
    session,
    entryId,
    seenAt,
  }: Selectable<WebsiteTables["websiteVisits"]>): KnownVisit {
    const visit = { projectId, visitor, session, entryId, seenAtMs: Number(seenAt) };
    this.#visits.set(keyOf(projectId, visitor), visit);
    return visit;
  }

  #claim(visit: KnownVisit): Promise<KnownVisit> {
    const key = keyOf(visit.projectId, visit.visitor);
    let claim = this.#claims.get(key);
    if (!claim) {
      claim = { ...visit, found: Promise.withResolvers() };
      this.#claims.set(key, claim);
      this.#claiming ??= this.#claimAll().finally(() => {
        this.#claiming = null;
      });
    }
    return claim.found.promise;
  }

  async #claimAll(): Promise<void> {
    // Requests of the same moment share the transaction.
    await Promise.resolve();
    while (this.#claims.size > 0) {
      const claims = [...this.#claims.values()].slice(0, togetherMax);
      try {
        const rows = await this.#upsert(claims);
        const visits = new Map(rows.map((row) => [keyOf(row.projectId, row.visitor), row]));
        for (const { projectId, visitor, found } of claims) {
          const key = keyOf(projectId, visitor);
          const visit = this.#remember(visits.get(key)!);
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

  /** Begins visits, and returns what is stored. One that goes on, on this node or another, keeps its session and entry. */
  #upsert(visits: readonly KnownVisit[]) {
    const goesOn = sql<boolean>`website_visits.seen_at > excluded.seen_at - ${sql.lit(limits.visitIdleMs)}`;
    return this.#store.control
      .insertInto("websiteVisits")
      .values(
        inOneOrder(visits).map(({ projectId, visitor, session, entryId, seenAtMs }) => ({
          ...{ projectId, visitor, session, entryId, seenAt: seenAtMs },
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["projectId", "visitor"]).doUpdateSet({
          session: sql`case when ${goesOn} then website_visits.session else excluded.session end`,
          entryId: sql`case when ${goesOn} then coalesce(website_visits.entry_id, excluded.entry_id) else excluded.entry_id end`,
          seenAt: sql`case when website_visits.seen_at > excluded.seen_at then website_visits.seen_at else excluded.seen_at end`,
        }),
      )
      .returning(["projectId", "visitor", "session", "entryId", "seenAt"])
      .execute();
  }

  /** Saves when visits were last seen. One that was erased meanwhile doesn't come back. */
  async #saveActivity(visits: readonly KnownVisit[]): Promise<void> {
    const { control, rowsOf } = this.#store;
    const columns = ["projectId", "visitor", "seenAt"] as const;
    const rows = inOneOrder(visits).map(({ projectId, visitor, seenAtMs }) => ({
      ...{ projectId, visitor, seenAt: seenAtMs },
    }));
    await control
      .with(
        "changed(projectId, visitor, seenAt)",
        () => sql<(typeof rows)[number]>`(${rowsOf("websiteVisits", columns, rows)})`,
      )
      .updateTable("websiteVisits")
      .from("changed")
      .set((eb) => ({ seenAt: eb.ref("changed.seenAt") }))
      .whereRef("websiteVisits.projectId", "=", "changed.projectId")
      .whereRef("websiteVisits.visitor", "=", "changed.visitor")
      .whereRef("websiteVisits.seenAt", "<", "changed.seenAt")
      .execute();
  }
}

/** So that two nodes don't wait for each other. */
function inOneOrder(visits: readonly KnownVisit[]): KnownVisit[] {
  return visits.toSorted((a, b) => a.projectId - b.projectId || (a.visitor < b.visitor ? -1 : 1));
}

function keyOf(projectId: number, visitor: string): string {
  return `${projectId} ${visitor}`;
}

function newSession(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
}

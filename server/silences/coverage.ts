import type { Kysely, Selectable, Transaction } from "kysely";
import { compileSearch } from "../event/compile-search.ts";
import type { Event } from "../event/event.ts";
import { parseSearch, type Search } from "../event/search.ts";
import type { SilenceDraft } from "../schemas/silence.ts";
import type { ReadCohorts } from "../storage/cohorts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { searchOfPeople } from "../storage/people.ts";

export type SilenceRow = Selectable<ControlTables["silences"]>;

/** The things that a silence may cover: an event, the finding of a rule, or an alert. */
export type Subject = {
  projectId: number;
  /** Null for events that go to members who want all. */
  ruleId: string | null;
  /** Finds its event, or else the last one of its rule; null if there is none. Called only if a search needs it. */
  event: () => Promise<Event | null>;
};

/** Returns whether a silence covers a subject of its project. */
export function coverageOf({
  q,
  rules,
}: Omit<SilenceDraft, "q"> & { q: string | Search }): (
  subject: Omit<Subject, "projectId">,
) => Promise<boolean> {
  const search = typeof q === "string" ? parseSearch(q) : q;
  const isMatch = search === null ? null : compileSearch(search);
  return async ({ ruleId, event }) => {
    if (rules.length > 0 && (ruleId === null || !rules.includes(ruleId))) return false;
    if (isMatch === null) return true;
    const found = await event();
    return found !== null && isMatch(found);
  };
}

/** The silences that may be active in a step, so that they are read once and their searches are compiled once. */
export class ActiveSilences {
  readonly #byProject: Map<number, (SilenceRow & { covers: ReturnType<typeof coverageOf> })[]>;

  /** @param searches - those of the rows, with the people and cohorts that they name */
  constructor(rows: readonly SilenceRow[], searches: readonly (string | Search)[] = rows.map(({ q }) => q)) {
    this.#byProject = Map.groupBy(
      rows.map((row, index) => ({ ...row, covers: coverageOf({ ...draftOf(row), q: searches[index]! }) })),
      ({ projectId }) => projectId,
    );
  }

  /** Reads those that are active at some time from `sinceMs` to `nowMs`, milliseconds since 1970. */
  static async read(
    control: Kysely<ControlTables> | Transaction<ControlTables>,
    sinceMs: number,
    nowMs: number,
    cohorts?: ReadCohorts,
  ): Promise<ActiveSilences> {
    const rows = await control
      .selectFrom("silences")
      .selectAll()
      .where("endsAt", ">", sinceMs)
      .where("startsAt", "<=", nowMs)
      .orderBy("endsAt", "desc")
      .execute();
    const searches = await Promise.all(
      rows.map(({ projectId, q }) => searchOfPeople(control, projectId, q, cohorts)),
    );
    return new ActiveSilences(rows, searches);
  }

  /** Whether a project has one in this time. Without one, the event of a match need not be read. */
  has(projectId: number): boolean {
    return this.#byProject.has(projectId);
  }

  /** The silence that covers a subject at a time; of several, the one that ends last. Null if none does. */
  async find({ projectId, ...subject }: Subject, atMs: number): Promise<SilenceRow | null> {
    for (const silence of this.#byProject.get(projectId) ?? []) {
      const isActive = silence.startsAt <= atMs && atMs < silence.endsAt;
      if (isActive && (await silence.covers(subject))) return silence;
    }
    return null;
  }
}

export function draftOf({ q, rules }: Pick<SilenceRow, "q" | "rules">): SilenceDraft {
  return { q, rules: JSON.parse(rules) as string[] };
}

/** "Silenced by ann@example.com: Deployment" */
export function silenceText({ createdBy, reason }: Pick<SilenceRow, "createdBy" | "reason">): string {
  return `Silenced by ${createdBy ?? "a command"}: ${reason}`;
}

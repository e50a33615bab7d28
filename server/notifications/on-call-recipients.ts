import { type Control, readSchedules } from "../on-call/read-schedules.ts";
import { onCallAt } from "../on-call/shifts.ts";
import type { Rule } from "../schemas/rule.ts";

type Schedule = { name: string; accounts: ReadonlySet<string>; isCovered: boolean };

/**
 * The accounts that get what goes to on-call schedules at a moment: whoever is on call. If nobody is, the owners and
 * admins of the project, so that no message reaches nobody.
 */
export class OnCallRecipients {
  readonly #schedules: ReadonlyMap<string, Schedule>;

  private constructor(schedules: ReadonlyMap<string, Schedule>) {
    this.#schedules = schedules;
  }

  /** Reads the schedules of the projects whose rules name some, all at once. Without such a rule, it reads nothing. */
  static async read(
    control: Control,
    matches: readonly { projectId: number; rule: Rule | null }[],
    atMs: number,
  ): Promise<OnCallRecipients> {
    const naming = matches.filter(({ rule }) => rule && rule.to.schedules.length > 0);
    const projects = [...new Set(naming.map(({ projectId }) => projectId))];
    const named = new Set(naming.flatMap(({ rule }) => rule!.to.schedules));
    const schedules = (await readSchedules(control, projects, atMs))
      .filter(({ id }) => named.has(id))
      .map(({ id, projectId, name, times }) => ({
        id,
        projectId,
        name,
        accountId: onCallAt(times, atMs).accountId,
      }));
    const uncovered = schedules.filter(({ accountId }) => accountId === null);
    const managers = await readManagers(control, [...new Set(uncovered.map(({ projectId }) => projectId))]);
    return new OnCallRecipients(
      new Map(
        schedules.map(({ id, projectId, name, accountId }) => [
          id,
          accountId === null
            ? { name, accounts: new Set(managers.get(projectId)), isCovered: false }
            : { name, accounts: new Set([accountId]), isCovered: true },
        ]),
      ),
    );
  }

  /** Why an account gets what a rule sends to its schedules, as a sentence; null if it doesn't. */
  reasonFor(rule: Rule | null, accountId: string | null): string | null {
    if (rule === null || accountId === null) return null;
    for (const id of rule.to.schedules) {
      const schedule = this.#schedules.get(id);
      if (schedule?.accounts.has(accountId))
        return schedule.isCovered
          ? `On call in "${schedule.name}".`
          : `Nobody was on call in "${schedule.name}", so owners and admins were told.`;
    }
    return null;
  }
}

/** The owners and admins of projects. */
async function readManagers(control: Control, projects: readonly number[]): Promise<Map<number, string[]>> {
  if (projects.length === 0) return new Map();
  const rows = await control
    .selectFrom("members")
    .select(["projectId", "accountId"])
    .where("projectId", "in", projects)
    .where("role", "in", ["owner", "admin"])
    .execute();
  const byProject = Map.groupBy(rows, ({ projectId }) => projectId);
  return new Map([...byProject].map(([id, members]) => [id, members.map(({ accountId }) => accountId)]));
}

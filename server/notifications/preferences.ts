import type { Kysely, Transaction } from "kysely";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import type { Level, LevelChange, Preferences, PreferencesChange } from "../schemas/preferences.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { findDestination } from "./account-destinations.ts";
import {
  type AccountSettings,
  defaultSettings,
  emailDueMs,
  levelKey,
  type MemberPreferences,
} from "./apply-preferences.ts";
import { isCollected } from "./destinations.ts";
import { listMutes } from "./mutes.ts";

type Control = Kysely<ControlTables>;

/** An account's preferences in the projects of which it is a member. */
export async function readPreferences(
  control: Control,
  accountId: string,
  nowMs: number,
): Promise<Preferences> {
  const levels = await control
    .selectFrom("notificationLevels")
    .innerJoin("projects", "projects.id", "notificationLevels.projectId")
    .select(["slug", "channel", "destinationId", "level"])
    .where("accountId", "=", accountId)
    .orderBy("slug")
    .orderBy("channel")
    .orderBy("destinationId")
    .execute();
  const unsubscribed = await control
    .selectFrom("emailUnsubscriptions")
    .innerJoin("projects", "projects.id", "emailUnsubscriptions.projectId")
    .select(["slug", "emailUnsubscriptions.createdAt"])
    .where("accountId", "=", accountId)
    .orderBy("slug")
    .execute();
  const settings = await readSettings(control, accountId);
  return {
    ...settings,
    levels: levels.map(({ slug, channel, destinationId, level }) => ({
      project: slug,
      channel: channel === "" ? null : channel,
      destination: destinationId,
      level,
    })),
    mutes: await listMutes(control, accountId, nowMs),
    unsubscribed: unsubscribed.map(({ slug, createdAt }) => ({
      project: slug,
      at: new Date(createdAt).toISOString(),
    })),
    version: versionOf(settings.timeZone, settings.quietHours, settings.emailDigest),
  };
}

async function readSettings(control: Control, accountId: string): Promise<AccountSettings> {
  const row = await control
    .selectFrom("notificationSettings")
    .selectAll()
    .where("accountId", "=", accountId)
    .executeTakeFirst();
  return row ? settingsOf(row) : defaultSettings;
}

/**
 * Changes when an account is notified. What was collected for its email is due at the new time. Throws
 * `changed-meanwhile`.
 */
export async function changeSettings(
  control: Control,
  accountId: string,
  change: PreferencesChange,
  ifMatch: IfMatch,
  nowMs: number,
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    await lockAccount(transaction, accountId);
    if (ifMatch) checkVersion(ifMatch, await readPreferences(transaction, accountId, nowMs));
    const settings = withChange(await readSettings(transaction, accountId), change);
    const columns = {
      timeZone: settings.timeZone,
      quietHours: settings.quietHours && JSON.stringify(settings.quietHours),
      emailDigest: settings.emailDigest && JSON.stringify(settings.emailDigest),
    };
    await transaction
      .insertInto("notificationSettings")
      .values({ accountId, ...columns })
      .onConflict((conflict) => conflict.column("accountId").doUpdateSet(columns))
      .execute();
    await transaction
      .updateTable("deliveries")
      .set({ nextAttemptAt: emailDueMs(settings, nowMs) })
      .where(isCollected)
      .where("accountId", "=", accountId)
      .execute();
  });
}

/** Sets or clears a level. Throws `destination-unknown` and `limit-reached`. */
export async function changeLevel(
  control: Control,
  projectId: number,
  accountId: string,
  { channel, destination, level }: LevelChange,
): Promise<void> {
  const place = { projectId, accountId, channel: channel ?? "", destinationId: destination };
  await findDestination(control, accountId, destination);
  await control.transaction().execute(async (transaction) => {
    await lockAccount(transaction, accountId);
    await transaction
      .deleteFrom("notificationLevels")
      .where((eb) => eb.and(place))
      .execute();
    if (level === null) return;
    const { count } = await transaction
      .selectFrom("notificationLevels")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("accountId", "=", accountId)
      .executeTakeFirstOrThrow();
    if (Number(count) >= limits.levelsPerAccount) {
      throw problem("limit-reached", {
        detail: `An account can choose at most ${limits.levelsPerAccount.toLocaleString("en")} levels. Choose one for a whole project instead.`,
      });
    }
    await transaction
      .insertInto("notificationLevels")
      .values({ ...place, level })
      .execute();
  });
}

/** Locks the account's row until the transaction ends, so that its changes follow one another. */
async function lockAccount(transaction: Transaction<ControlTables>, accountId: string): Promise<void> {
  await transaction
    .updateTable("accounts")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", accountId)
    .execute();
}

/** The preferences of those members of projects who have any. */
export class ProjectPreferences {
  readonly #members = new Map<string, Draft>();
  readonly #withFollowers = new Set<number>();

  /** Reads those of all members of some projects: four queries, however many members there are. */
  static async read(control: Control, projects: readonly number[]): Promise<ProjectPreferences> {
    const all = new ProjectPreferences();
    const settings = await control
      .selectFrom("notificationSettings")
      .innerJoin("members", "members.accountId", "notificationSettings.accountId")
      .selectAll("notificationSettings")
      .select("projectId")
      .where("projectId", "in", projects)
      .execute();
    for (const row of settings) Object.assign(all.#of(row), settingsOf(row));
    const levels = await control
      .selectFrom("notificationLevels")
      .selectAll()
      .where("projectId", "in", projects)
      .execute();
    for (const row of levels) {
      all.#of(row).levels.set(levelKey(row.channel, row.destinationId), row.level);
      if (row.level === "all") all.#withFollowers.add(row.projectId);
    }
    const mutes = await control.selectFrom("mutes").selectAll().where("projectId", "in", projects).execute();
    for (const row of mutes)
      all.#of(row).mutes.push({ channel: row.channel, name: row.name, untilMs: row.until });
    const unsubscribed = await control
      .selectFrom("emailUnsubscriptions")
      .selectAll()
      .where("projectId", "in", projects)
      .execute();
    for (const row of unsubscribed) all.#of(row).isUnsubscribed = true;
    return all;
  }

  /** Whether somebody wants all events of a channel. */
  hasFollowers(projectId: number): boolean {
    return this.#withFollowers.has(projectId);
  }

  /** Undefined if the member has none. */
  of(projectId: number, accountId: string): MemberPreferences | undefined {
    return this.#members.get(`${projectId} ${accountId}`);
  }

  #of({ projectId, accountId }: { projectId: number; accountId: string }): Draft {
    const key = `${projectId} ${accountId}`;
    const preferences = this.#members.get(key) ?? {
      ...defaultSettings,
      isUnsubscribed: false,
      levels: new Map(),
      mutes: [],
    };
    this.#members.set(key, preferences);
    return preferences;
  }
}

/** While they are read. */
type Draft = AccountSettings & {
  isUnsubscribed: boolean;
  levels: Map<string, Level>;
  mutes: { channel: string; name: string; untilMs: number | null }[];
};

function settingsOf({
  timeZone,
  quietHours,
  emailDigest,
}: {
  timeZone: string;
  quietHours: string | null;
  emailDigest: string | null;
}): AccountSettings {
  return {
    timeZone,
    quietHours: quietHours === null ? null : JSON.parse(quietHours),
    emailDigest: emailDigest === null ? null : JSON.parse(emailDigest),
  };
}

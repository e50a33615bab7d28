import type { Kysely, Selectable } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Mute, NewMute } from "../schemas/preferences.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables>;

/** An account's mutes that are not over, the newest first. */
export async function listMutes(control: Control, accountId: string, nowMs: number): Promise<Mute[]> {
  const rows = await control
    .selectFrom("mutes")
    .innerJoin("projects", "projects.id", "mutes.projectId")
    .selectAll("mutes")
    .select("slug")
    .where("accountId", "=", accountId)
    .where((eb) => eb.or([eb("until", "is", null), eb("until", ">", nowMs)]))
    .orderBy("mutes.createdAt", "desc")
    .orderBy("mutes.id")
    .execute();
  return rows.map((row) => muteOf(row, row.slug));
}

/** Mutes a channel or a name in it. An earlier mute of the same is replaced. Throws `limit-reached`. */
export async function addMute(
  control: Control,
  projectId: number,
  accountId: string,
  { project, channel, name, minutes }: NewMute,
  nowMs: number,
): Promise<Mute> {
  const row = {
    id: Bun.randomUUIDv7(),
    projectId,
    accountId,
    channel,
    name: name ?? "",
    until: minutes === null ? null : nowMs + minutes * 60_000,
    createdAt: nowMs,
  };
  return control.transaction().execute(async (transaction) => {
    await transaction
      .deleteFrom("mutes")
      .where("accountId", "=", accountId)
      .where("until", "<=", nowMs)
      .execute();
    const { id, until, createdAt } = row;
    const stored = await transaction
      .insertInto("mutes")
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(["projectId", "accountId", "channel", "name"]).doUpdateSet({ id, until, createdAt }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
    const { count } = await transaction
      .selectFrom("mutes")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("accountId", "=", accountId)
      .executeTakeFirstOrThrow();
    if (Number(count) > limits.mutesPerAccount) {
      throw problem("limit-reached", {
        detail: `An account can have at most ${limits.mutesPerAccount} mutes. Unmute something, or mute whole channels.`,
      });
    }
    return muteOf(stored, project);
  });
}

/** Throws `mute-unknown`. */
export async function removeMute(control: Control, accountId: string, id: string): Promise<void> {
  const { numDeletedRows } = await control
    .deleteFrom("mutes")
    .where("id", "=", id)
    .where("accountId", "=", accountId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw problem("mute-unknown", { detail: "You have no mute with this ID." });
}

function muteOf(
  { id, channel, name, until, createdAt }: Selectable<ControlTables["mutes"]>,
  project: string,
): Mute {
  return {
    id,
    project,
    channel,
    name: name === "" ? null : name,
    until: until === null ? null : new Date(until).toISOString(),
    createdAt: new Date(createdAt).toISOString(),
  };
}

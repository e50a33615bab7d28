import type { Kysely, Selectable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Channel } from "../wire/channel.ts";
import { problem } from "../wire/problems.ts";

/** A project's channels, by name. */
export async function listChannels(control: Kysely<ControlTables>, projectId: number): Promise<Channel[]> {
  const rows = await control
    .selectFrom("channels")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("name")
    .execute();
  return rows.map(channelOf);
}

/** Makes a channel before its first event. Throws `channel-exists`. */
export async function createChannel(
  control: Kysely<ControlTables>,
  projectId: number,
  { name, icon }: { name: string; icon?: string | undefined },
): Promise<Channel> {
  const row = await control
    .insertInto("channels")
    .values({ projectId, name, icon: icon ?? null, lastEventAt: null, createdAt: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row) throw problem("channel-exists", { detail: `There is a channel "${name}" already.` });
  return channelOf(row);
}

function channelOf(row: Selectable<ControlTables["channels"]>): Channel {
  return {
    id: row.name,
    name: row.name,
    ...(row.icon !== null && { icon: row.icon }),
    events: row.events,
    lastEventAt: row.lastEventAt === null ? null : new Date(row.lastEventAt).toISOString(),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

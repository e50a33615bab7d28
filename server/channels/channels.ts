import type { Kysely, Selectable } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Channel, ChannelChange } from "../schemas/channel.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** Numbers in names by their value: "2" before "10". */
const names = new Intl.Collator("en", { numeric: true });

/** A project's channels, ordered by name. With `archived`, only those that are archived or not. */
export async function listChannels(
  control: Kysely<ControlTables>,
  projectId: number,
  archived?: boolean,
): Promise<Channel[]> {
  const rows = await control
    .selectFrom("channels")
    .selectAll()
    .where("projectId", "=", projectId)
    .$if(archived !== undefined, (query) => query.where("archivedAt", archived ? "is not" : "is", null))
    .orderBy("name")
    .execute();
  return rows.map(channelOf).sort((a, b) => names.compare(a.name, b.name));
}

/** Creates a channel. Throws `channel-exists` and `limit-reached`. */
export async function createChannel(
  { transaction, projectId, record }: Change,
  { name, icon, description }: { name: string; icon?: string | undefined; description?: string | undefined },
): Promise<Channel> {
  // Locks the row until the transaction ends, so that only one request at a time counts the project's channels.
  await transaction
    .updateTable("projects")
    .set((eb) => ({ slug: eb.ref("slug") }))
    .where("id", "=", projectId)
    .execute();
  const row = await transaction
    .insertInto("channels")
    .values({
      projectId,
      name,
      icon: icon || null,
      description: description || null,
      retentionDays: null,
      archivedAt: null,
      lastEventAt: null,
      createdAt: Date.now(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row) throw problem("channel-exists", { detail: `The channel "${name}" already exists.` });
  const { count } = await transaction
    .selectFrom("channels")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) > limits.channels) {
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.channels.toLocaleString("en")} channels. Delete one you no longer use.`,
    });
  }
  await record({ action: "channel.created", target: name });
  return channelOf(row);
}

/** Throws `channel-unknown` and `changed-meanwhile`. */
export async function changeChannel(
  { transaction, projectId, record }: Change,
  name: string,
  body: ChannelChange,
  ifMatch: IfMatch,
): Promise<Channel> {
  const { icon, description, retentionDays, firstTags, archived } = body;
  // Locks the row until the transaction ends.
  const before = await transaction
    .updateTable("channels")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .returningAll()
    .executeTakeFirst();
  if (!before) throw problem("channel-unknown", { detail: "This project has no channel with this name." });
  checkVersion(ifMatch, channelOf(before));
  const row = await transaction
    .updateTable("channels")
    .set(({ fn, val }) => ({
      ...(icon !== undefined && { icon: icon || null }),
      ...(description !== undefined && { description: description || null }),
      ...(retentionDays !== undefined && { retentionDays }),
      ...(firstTags !== undefined && { firstTags: JSON.stringify(firstTags) }),
      // If it is archived already, the date doesn't change.
      ...(archived !== undefined && {
        archivedAt: archived ? fn.coalesce("archivedAt", val(Date.now())) : null,
      }),
    }))
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "channel.changed", target: name, detail: body });
  return channelOf(row);
}

/** The tags that these channels show first, for those that show any. */
export async function firstTagsOf(
  control: Kysely<ControlTables>,
  projectId: number,
  channels: readonly string[],
): Promise<Map<string, string[]>> {
  if (channels.length === 0) return new Map();
  const rows = await control
    .selectFrom("channels")
    .select(["name", "firstTags"])
    .where("projectId", "=", projectId)
    .where("name", "in", channels)
    .where("firstTags", "!=", "[]")
    .execute();
  return new Map(rows.map(({ name, firstTags }) => [name, JSON.parse(firstTags) as string[]]));
}

function channelOf(row: Selectable<ControlTables["channels"]>): Channel {
  return {
    id: row.name,
    name: row.name,
    ...(row.icon !== null && { icon: row.icon }),
    ...(row.description !== null && { description: row.description }),
    retentionDays: row.retentionDays,
    firstTags: JSON.parse(row.firstTags) as string[],
    archivedAt: row.archivedAt === null ? null : new Date(row.archivedAt).toISOString(),
    events: row.events,
    lastEventAt: row.lastEventAt === null ? null : new Date(row.lastEventAt).toISOString(),
    version: versionOf(row.icon, row.description, row.retentionDays, row.firstTags, row.archivedAt !== null),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

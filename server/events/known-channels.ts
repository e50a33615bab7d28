import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { nearest } from "../wire/nearest.ts";
import { clipped } from "../wire/problems.ts";

/** Channels for which the one that is meant is sought, of those that come at a time: it is compared with each that there is. */
const soughtMax = 20;

/** The channels of some events that their project does not have, each with what to say of it. */
export async function unknownChannels(
  control: Kysely<ControlTables>,
  projectId: number,
  bodies: readonly unknown[],
): Promise<Map<string, string>> {
  const named = new Set<string>();
  for (const body of bodies) {
    const channel = (body as { channel?: unknown } | null)?.channel;
    if (typeof channel === "string") named.add(channel);
  }
  const channels = await control
    .selectFrom("channels")
    .select("name")
    .where("projectId", "=", projectId)
    .execute();
  const known = new Set(channels.map(({ name }) => name));
  const details = new Map<string, string>();
  for (const name of named) {
    if (known.has(name)) continue;
    const meant = details.size < soughtMax ? nearest(name, known) : null;
    const remedy = meant === null ? "Make it first, or name another." : `Did you mean "${clipped(meant)}"?`;
    details.set(
      name,
      `The project takes no events for channels that it does not have, such as "${clipped(name)}". ${remedy}`,
    );
  }
  return details;
}

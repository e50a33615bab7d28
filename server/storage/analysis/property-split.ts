import type { Split } from "../split.ts";
import type { Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import type { PropertySplit, Watch } from "./queries.ts";
import type { Scan, Sources } from "./scan.ts";
import { tooMany } from "./too-large.ts";

/** The value of a property, which is stored as JSON, as a text; undefined for none or null. */
export function textOfProperty(json: string | null): string | undefined {
  const value = json === null ? null : (JSON.parse(json) as string | number | boolean | null);
  return value === null ? undefined : String(value);
}

/**
 * A scan for a split. If that is a property of users, batches have each user's value in place of one of the event, as it
 * is now. Otherwise, events have their own.
 *
 * @param only - the only value that users may have; others have none
 */
export function scanFor(
  { scan, readProperty }: Sources,
  split: Split | PropertySplit | undefined,
  only?: string,
): { scan: Scan; ofEvents: Split | undefined } {
  if (split?.by !== "user") return { scan, ofEvents: split };
  const { key } = split;
  /** The numbers of users and values are those of the batches that they were read for. */
  let known: { batches: Batches; values: Uint32Array } | null = null;
  return {
    ofEvents: undefined,
    async scan(query, batches, take, watch) {
      if (known?.batches !== batches)
        known = { batches, values: await readValues(batches, query.projectId, watch) };
      const { values } = known;
      await scan(
        query,
        batches,
        (batch) => {
          for (let at = 0; at < batch.size; at++) batch.values[at] = values[batch.users[at]!] ?? 0;
          return take(batch);
        },
        watch,
      );
    },
  };

  /** The number of each user's value; 0 for none. */
  async function readValues(
    { users, values: texts }: Batches,
    projectId: number,
    watch: Watch,
  ): Promise<Uint32Array> {
    let values = new Uint32Array(1_024);
    const reading = readProperty(
      projectId,
      key,
      (userId, value) => {
        if (only !== undefined && value !== only) return;
        const user = users.add(userId);
        while (user >= values.length) values = grown(values);
        values[user] = texts.add(value);
      },
      watch,
    );
    // Values of all users count, so a shorter range wouldn't help.
    await tooMany("properties", reading);
    return values;
  }
}

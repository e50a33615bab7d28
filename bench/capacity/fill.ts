import { Database } from "bun:sqlite";
import { join } from "node:path";
import { blockEventsUsual as blockEventsOnPostgres } from "../../server/storage/postgres/build-blocks.ts";
import { blockEventsUsual } from "../../server/storage/sqlite/build-blocks.ts";
import { eventOf, type SentEvent } from "../events.ts";
import type { Servers } from "../kept-servers.ts";

const batchEvents = 1_000;
const posters = 4;
/** Connections that send one event at a time. */
const singlePosters = 32;
const monthMs = 30 * 86_400_000;
const settleTimeoutMs = 3_600_000;

/** What the JSON of an event takes, as it is sent. */
export const sizes = [100, 215, 1_000] as const;
export type Size = (typeof sizes)[number];

const words =
  "payment order invoice login backup import deployment message customer received failed started completed".split(
    " ",
  );

/** An event of about so many bytes of JSON: a user and no tags; three tags; or three tags and a description. */
export function eventOfSize(number: number, size: Size, createdAtMs: number): object {
  const event: SentEvent & { description?: string } = eventOf(number);
  const createdAt = new Date(createdAtMs).toISOString();
  if (size === 100) {
    const { channel, name, userId } = event;
    return { channel, name: name.split(" ")[0], userId, createdAt };
  }
  const whole = { ...event, createdAt };
  whole.tags.session = ((number * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
  const missing = size - JSON.stringify(whole).length - ',"description":""'.length;
  if (size === 215 || missing <= 0) return whole;
  let description = "";
  for (let index = 0; description.length < missing; index++)
    description += `${words[(number * 31 + index * 7) % words.length]}-${(number * 17 + index * 13) % 997} `;
  return { ...whole, description: description.slice(0, missing) };
}

/** Records events as a history of a month, in arrays. `from` and `to` are their numbers of `total`. */
export async function record(
  { servers, apiKey }: { servers: Servers; apiKey: string },
  size: Size,
  { from, to, total }: { from: number; to: number; total: number },
): Promise<void> {
  const startMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 - monthMs;
  let next = from;
  await Promise.all(
    Array.from({ length: posters }, async () => {
      while (next < to) {
        const first = next;
        next += batchEvents;
        const events = Array.from({ length: Math.min(batchEvents, to - first) }, (_, index) =>
          eventOfSize(first + index, size, startMs + Math.floor(((first + index) / total) * monthMs)),
        );
        await send(servers.address, apiKey, events);
      }
    }),
  );
}

/** Records events that happen now, each with a request of its own, as fast as they are answered. */
export async function recordOneByOne(
  { servers, apiKey }: { servers: Servers; apiKey: string },
  size: Size,
  { from, to }: { from: number; to: number },
): Promise<void> {
  let next = from;
  await Promise.all(
    Array.from({ length: singlePosters }, async () => {
      while (next < to) await send(servers.address, apiKey, eventOfSize(next++, size, Date.now()));
    }),
  );
}

async function send(address: string, apiKey: string, body: object): Promise<void> {
  const response = await fetch(`${address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey },
    body: JSON.stringify(body),
  });
  if (response.status !== 201)
    throw new Error(`A POST was answered ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

const outsideBlocks =
  "(SELECT coalesce(sum(events), 0) FROM channels) - (SELECT coalesce(sum(events - changed), 0) FROM blocks)";

/** Waits until blocks are built and, on SQLite, older events compressed: what a server does by itself after a load. */
export async function settle(servers: Servers): Promise<void> {
  const deadline = performance.now() + settleTimeoutMs;
  const isDone =
    servers.engine === "sqlite"
      ? () => isSettledOnSqlite(servers.dataDirectory)
      : () => isSettledOnPostgres(servers);
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Error("Blocks were not built within an hour.");
    await Bun.sleep(1_000);
  }
  if (servers.engine === "postgres") await servers.query("VACUUM (ANALYZE)");
}

async function isSettledOnSqlite(directory: string): Promise<boolean> {
  using database = new Database(join(directory, "tidings.db"), { readonly: true });
  const { missing, unpacked } = database
    .query<{ missing: number; unpacked: number }, [number]>(
      `SELECT ${outsideBlocks} AS missing, (SELECT count(*) FROM blocks WHERE packed = 0 AND events > 0
         AND from_ms <= (SELECT max(from_ms) FROM blocks WHERE events >= ?1)) AS unpacked`,
    )
    .get(blockEventsUsual)!;
  return missing < blockEventsUsual && unpacked === 0;
}

async function isSettledOnPostgres(servers: Servers): Promise<boolean> {
  const total = await servers.query("SELECT coalesce(sum(events), 0) FROM channels");
  return (
    total < blockEventsOnPostgres ||
    (await servers.query(`SELECT ${outsideBlocks}`)) < blockEventsOnPostgres / 8
  );
}

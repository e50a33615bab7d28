import { Turns } from "../../scheduling/turns.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import type { Reader } from "./connection.ts";
import type { Range, Sent } from "./ranges.ts";
import { checksumOf, checksumSql, type NewRow } from "./rows.ts";
import type { PreparedServer } from "./schema.ts";
import type { PlacedServer } from "./servers.ts";

/** How often a block that differs is sent again, as a new one. */
const renewalsMax = 2;

export type StoreBlock = ReturnType<typeof createStoreBlock>;

/**
 * @param options - the most events of a block, and the time limit of sending one
 * @param lacks - whether a server still lacks a block. A node that was suspended must not replace what another one stored
 *   meanwhile: the rows can be gone
 */
export function createStoreBlock(
  options: { events: number; sendMs: number },
  lacks: (server: string, block: number) => Promise<boolean>,
) {
  /**
   * Stores a range as one block on a server. What the server then has is compared with what was sent.
   *
   * @param rows - reads the rows, also again
   */
  return async function storeBlock(
    clickHouse: PreparedServer,
    { id }: Pick<PlacedServer, "id">,
    range: Range,
    rows: () => AsyncIterable<NewRow[]>,
  ): Promise<Sent> {
    for (let { token } = range, renewals = 0; ; renewals++, token = crypto.randomUUID()) {
      const sent = await send(clickHouse, token, rows());
      if (isSame(sent, await measure(clickHouse, range, options.sendMs))) return sent;
      if (renewals === renewalsMax) {
        throw new UnfitDatabase(
          `Block ${range.block} in ClickHouse differs from the events that were sent. It is sent again.`,
        );
      }
      if (!(await lacks(id, range.block)))
        throw new UnfitDatabase(`Another node has stored block ${range.block} in ClickHouse meanwhile.`);
      await clickHouse.run(
        `DELETE FROM events WHERE block = ${range.block} SETTINGS lightweight_deletes_sync = 2`,
        {},
        options.sendMs,
      );
    }
  };

  /** Sends rows as one block. ClickHouse ignores one whose token it knows. */
  async function send(
    clickHouse: PreparedServer,
    token: string,
    rows: AsyncIterable<NewRow[]>,
  ): Promise<Sent> {
    const turns = new Turns("server");
    const sent = { events: 0, sum: 0n, newestMs: 0 };
    async function* measured(): AsyncGenerator<NewRow> {
      for await (const some of rows) {
        sent.events += some.length;
        sent.sum += BigInt(checksumOf(some));
        for (const row of some) {
          sent.newestMs = Math.max(sent.newestMs, Number(row.created));
          yield row;
          if (turns.isOver) await turns.next();
        }
      }
    }
    await clickHouse.insert(
      "events",
      measured(),
      {
        insert_deduplication_token: token,
        insert_deduplicate: 1,
        async_insert: 0,
        max_insert_block_size: String(2 * options.events),
        input_format_parallel_parsing: 0,
        max_partitions_per_insert_block: 0,
      },
      options.sendMs,
    );
    return {
      events: sent.events,
      checksum: String(BigInt.asUintN(64, sent.sum)),
      newestMs: sent.newestMs,
    };
  }
}

type Measured = Pick<Sent, "events" | "checksum">;

/** The number of a block's events on a server, and their checksum. */
export async function measure(
  clickHouse: Reader,
  { block }: Pick<Range, "block">,
  timeoutMs: number,
): Promise<Measured> {
  const [row] = await clickHouse.read<{ events: string; checksum: string }>(
    `SELECT count() AS events, toString(${checksumSql}) AS checksum FROM events WHERE block = ${block}`,
    {},
    { timeoutMs },
  );
  return { events: Number(row!.events), checksum: row!.checksum };
}

export function isSame(a: Measured, b: Measured): boolean {
  return a.events === b.events && a.checksum === b.checksum;
}

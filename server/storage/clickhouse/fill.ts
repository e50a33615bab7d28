import { olderProblem, whyOf } from "./failure.ts";
import type { Finish } from "./finish.ts";
import type { Range, Ranges } from "./ranges.ts";
import type { createRemovals } from "./removals.ts";
import { type NewRow, newRowColumns } from "./rows.ts";
import type { PreparedServer } from "./schema.ts";
import { isOfServer, type PlacedServer, type Servers } from "./servers.ts";
import { isSame, measure, type StoreBlock } from "./store-block.ts";

/** Rows that are copied at a time. */
const stepRows = 5_000;

type Deps = {
  servers: Servers;
  ranges: Ranges;
  removals: ReturnType<typeof createRemovals>;
  storeBlock: StoreBlock;
  finish: Finish;
  sendMs: number;
  /** The rows of a range in PostgreSQL. */
  rowsOf: (range: Range) => AsyncIterable<NewRow[]>;
};

/** Gives blocks and removals to servers that lack some: those that were away, and new ones. */
export function createFill({ servers, ranges, removals, storeBlock, finish, sendMs, rowsOf }: Deps) {
  /** Fills the next block of a server. Returns false if none can be filled now. */
  return async function fillNext(nowMs: number): Promise<boolean> {
    const placed = await servers.placed();
    for (const server of placed) {
      const { clickHouse, behindSince, leftAt } = server;
      if (clickHouse === null || behindSince === null || leftAt !== null) continue;
      try {
        await fill(clickHouse, server, placed, nowMs);
        servers.clear(clickHouse);
        return true;
      } catch (error) {
        if (!isOfServer(error)) throw error;
        servers.trouble(clickHouse, whyOf(error));
      }
    }
    return false;
  };

  async function fill(
    clickHouse: PreparedServer,
    server: PlacedServer,
    placed: readonly PlacedServer[],
    nowMs: number,
  ): Promise<void> {
    // All servers are current as long as nothing was shipped.
    const range = (await ranges.shippedFrom(server.completeTo + 1))!;
    let { removedTo } = server;
    if (range.block > server.completeTo) {
      if (range.is_gone) {
        const source = sourceOf(range, placed);
        await copy(source.clickHouse!, clickHouse, server, range);
        // It lacks the events of its own removals only.
        removedTo = Math.min(removedTo, source.removedTo);
      } else await storeBlock(clickHouse, server, range, () => rowsOf(range));
    }
    const isErased = await finish(range, [{ ...server, removedTo }], null, nowMs);
    if (isErased) await removals.rewriteOn(clickHouse);
  }

  async function copy(
    source: PreparedServer,
    target: PreparedServer,
    server: PlacedServer,
    range: Range,
  ): Promise<void> {
    if (isSame(await measure(source, range, sendMs), await measure(target, range, sendMs))) return;
    await storeBlock(target, server, range, () => rowsIn(source, range));
  }
}

function sourceOf({ block }: Range, placed: readonly PlacedServer[]): PlacedServer {
  const source = placed.find(({ clickHouse, completeTo }) => clickHouse !== null && completeTo >= block);
  if (!source) throw olderProblem("away", `it lacks block ${block}, which no server that answers has`);
  return source;
}

/** The rows of a range on a server, in the order of arrival. */
async function* rowsIn(clickHouse: PreparedServer, { block, after }: Range): AsyncGenerator<NewRow[]> {
  for (let last = after; ; ) {
    const rows = await clickHouse.read<NewRow>(
      `SELECT ${newRowColumns} FROM events WHERE block = ${block} AND arrival > ${last}
       ORDER BY arrival LIMIT ${stepRows} WITH TIES`,
    );
    if (rows.length > 0) yield rows;
    if (rows.length < stepRows) return;
    last = rows.at(-1)!.arrival;
  }
}

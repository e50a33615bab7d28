import type { ClientBase } from "pg";
import { connect } from "./connection.ts";
import { whyOf } from "./failure.ts";
import { checksumSql } from "./rows.ts";
import { ownerIn, serverIn } from "./schema.ts";
import { measure } from "./store-block.ts";

const hourMs = 3_600_000;
/** A table with a billion events is read as a whole. */
const diagnosisMs = 3_600_000;
/** Blocks that a sentence names. */
const namedMax = 5;

type Placed = {
  block: number;
  events: number;
  checksum: string;
  shipped_at: number;
  is_kept: boolean;
};

/** A fault of what is in ClickHouse, as sentences. */
type OlderFault = { detail: string; advice: string; isMendable: boolean };

const restore =
  "Restore ClickHouse from a backup that has them (docs/clickhouse.md). Without one, these events are lost, and pages leave them out.";

/** What a server has, and what is wrong with it. Null for `lacks` if it should have all that was moved. */
export type ServerDiagnosis = {
  name: string;
  events: number;
  blocks: number;
  /** The blocks and removals that it lacks since it was away; null if reads may ask it. */
  lacks: { blocks: number; removals: number } | null;
  faults: OlderFault[];
};

/**
 * Compares the events on a server of ClickHouse with what PostgreSQL knows of them: the number and checksum of each block
 * as it was moved, and of each hour the counter. All events there are read. Null if nothing was moved there.
 *
 * Throws if the server can't be read.
 */
export async function diagnoseOlder(client: ClientBase, url: string): Promise<ServerDiagnosis | null> {
  const clickHouse = connect(url, { onWarning: () => {}, onInfo: () => {} });
  const { name } = clickHouse;
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const { rows: shipped } = await client.query<Placed>(
      `SELECT block, events, coalesce(checksum, '') AS checksum, shipped_at,
         gone_at IS NULL AND cleared_at IS NULL AS is_kept
       FROM shipped_ranges WHERE shipped_at IS NOT NULL ORDER BY block`,
    );
    if (shipped.length === 0) return null;
    const foreign = await ownerFault();
    if (foreign) return { name, events: 0, blocks: 0, lacks: null, faults: [foreign] };
    const { rows: servers } = await client.query<{
      complete_to: number;
      removals: number;
      is_behind: boolean;
    }>(
      `SELECT complete_to, behind_since IS NOT NULL AS is_behind,
         (SELECT count(*) FROM shipped_removals WHERE number > removed_to)::integer AS removals
       FROM clickhouse_servers WHERE id::text = $1`,
      [await serverIn(clickHouse)],
    );
    const server = servers[0] ?? { complete_to: 0, removals: 0, is_behind: true };
    const placed = shipped.filter(({ block }) => block <= server.complete_to);
    const lacks = server.is_behind
      ? { blocks: shipped.length - placed.length, removals: server.removals }
      : null;
    const last = shipped.at(-1)!.block;
    const stored = await clickHouse.read<{ block: string; events: string; checksum: string }>(
      `SELECT block, count() AS events, toString(${checksumSql}) AS checksum FROM events GROUP BY block`,
      {},
      { timeoutMs: diagnosisMs },
    );
    const found = new Map(stored.map(({ block, ...rest }) => [Number(block), rest]));
    const isWrong = ({ block, events, checksum }: Placed) => {
      const there = found.get(block);
      if (Number(there?.events ?? 0) > events) return true;
      // Removed events make a block smaller: the counters tell whether they all were removed.
      return (
        there !== undefined &&
        Number(there.events) === events &&
        checksum !== "" &&
        there.checksum !== checksum
      );
    };
    const wrong = placed.filter(isWrong);
    const smaller = placed.filter(({ block, events }) => Number(found.get(block)?.events ?? 0) < events);
    const lacking = lacks ? { missing: 0, extra: 0 } : await missingEvents(last, server.removals);
    const faults: OlderFault[] = [];
    if (wrong.length > 0)
      faults.push(fault(`Blocks that differ from what was moved: ${named(wrong)}`, wrong));
    if (lacking.missing > 0) {
      const from = smaller.length > 0 ? `, of blocks such as ${named(smaller)}` : "";
      faults.push(
        fault(`Events that the counters know and ClickHouse lacks: ${lacking.missing}${from}`, smaller),
      );
    }
    if (lacking.extra > 0)
      faults.push(fault(`Events in ClickHouse that the counters don't know: ${lacking.extra}`, []));
    return {
      name,
      events: [...found.values()].reduce((sum, { events }) => sum + Number(events), 0),
      blocks: placed.length,
      lacks,
      faults,
    };
  } catch (error) {
    throw new Error(whyOf(error));
  } finally {
    await client.query("ROLLBACK").catch(() => {});
    await clickHouse.close();
  }

  async function ownerFault(): Promise<OlderFault | null> {
    const { rows } = await client.query<{ value: string }>(
      "SELECT value FROM settings WHERE name = 'clickhouse_owner'",
    );
    const owner = await ownerIn(clickHouse);
    if (owner === rows[0]?.value) return null;
    return {
      detail:
        owner === null ? "It has no events of Tidings." : "It has events of another database of Tidings.",
      advice: "Let CLICKHOUSE_URL lead to the database that belongs to the one in DATABASE_URL.",
      isMendable: false,
    };
  }

  /** Compares the counter of each hour with the events of both databases, each in the part that reads find there. */
  async function missingEvents(last: number, removals: number): Promise<{ missing: number; extra: number }> {
    const { rows: counted } = await client.query<{ key: string; events: string }>(
      `SELECT project_id || ' ' || hour || ' ' || channel AS key, events FROM channel_counters`,
    );
    const { rows: newer } = await client.query<{ key: string; events: string }>(
      `SELECT project_id || ' ' || created_at / ${hourMs} || ' ' || (('{' || body || '}')::json ->> 'channelId') AS key,
         count(*) AS events
       FROM events WHERE arrival > (SELECT max(to_arrival) FROM shipped_ranges WHERE shipped_at IS NOT NULL) GROUP BY 1`,
    );
    const older = await clickHouse.read<{ key: string; events: string }>(
      `SELECT concat(toString(project), ' ', toString(intDiv(created, ${hourMs})), ' ', channel) AS key, count() AS events
       FROM events WHERE block <= ${last} GROUP BY key`,
      {},
      { timeoutMs: diagnosisMs },
    );
    const open = new Map(counted.map(({ key, events }) => [key, Number(events)]));
    for (const { key, events } of [...newer, ...older]) open.set(key, (open.get(key) ?? 0) - Number(events));
    let [missing, extra] = [0, 0];
    for (const difference of open.values()) {
      missing += Math.max(difference, 0);
      extra += Math.max(-difference, 0);
    }
    // Removed events are counted no more, and deleted in ClickHouse afterwards.
    return { missing, extra: Math.max(0, extra - removals) };
  }
}

function fault(detail: string, blocks: readonly Placed[]): OlderFault {
  const isMendable = blocks.length > 0 && blocks.every(({ is_kept }) => is_kept);
  return {
    detail: `${detail}.`,
    advice: isMendable
      ? "PostgreSQL still has them. Stop all nodes, and run: tidings doctor --fix. They are moved again."
      : restore,
    isMendable,
  };
}

function named(blocks: readonly Placed[]): string {
  const names = blocks
    .slice(0, namedMax)
    .map(({ block, shipped_at }) => `${block} (${new Date(shipped_at).toISOString()})`);
  return names.join(", ") + (blocks.length > namedMax ? ` and ${blocks.length - namedMax} more` : "");
}

/**
 * Has blocks moved again that differ from what was moved, with all later ones: PostgreSQL must still have their events.
 * Before the next block is sent, servers delete those that PostgreSQL no longer knows.
 */
export async function moveAgain(client: ClientBase, urls: readonly string[]): Promise<void> {
  const { rows: kept } = await client.query<Placed>(
    `SELECT block, events, coalesce(checksum, '') AS checksum, shipped_at, true AS is_kept FROM shipped_ranges
     WHERE shipped_at IS NOT NULL AND gone_at IS NULL AND cleared_at IS NULL ORDER BY block`,
  );
  const firsts = await Promise.all(urls.map((url) => firstWrong(client, url, kept)));
  const blocks = firsts.filter((block) => block !== null);
  if (blocks.length === 0) return;
  await client.query(
    `WITH again AS (DELETE FROM shipped_ranges WHERE block >= $1)
     UPDATE clickhouse_servers SET complete_to = least(complete_to, $1 - 1)`,
    [Math.min(...blocks)],
  );
}

/** The first block that a server should have and that differs; null if none does. */
async function firstWrong(client: ClientBase, url: string, kept: readonly Placed[]): Promise<number | null> {
  const clickHouse = connect(url, { onWarning: () => {}, onInfo: () => {} });
  try {
    const { rows: servers } = await client.query<{ complete_to: number }>(
      "SELECT complete_to FROM clickhouse_servers WHERE id::text = $1",
      [await serverIn(clickHouse)],
    );
    for (const range of kept) {
      if (range.block > (servers[0]?.complete_to ?? 0)) break;
      const found = await measure(clickHouse, range, diagnosisMs);
      if (found.events !== range.events || (range.checksum !== "" && found.checksum !== range.checksum))
        return range.block;
    }
    return null;
  } finally {
    await clickHouse.close();
  }
}

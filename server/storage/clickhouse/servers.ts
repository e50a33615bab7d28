import { uuids } from "../postgres/arrays.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import { isOlderUnavailable } from "../postgres/older.ts";
import type { Query } from "../postgres/query.ts";
import type { StoreWatch } from "../store.ts";
import { connect, type Parameters, type Reader, type ReadLimit } from "./connection.ts";
import { isUnreachable, olderProblem } from "./failure.ts";
import type { Ranges } from "./ranges.ts";
import { beginEmpty, knownOwner, ownerOf, type PreparedServer, prepared } from "./schema.ts";

type Watch = Pick<StoreWatch, "onWarning" | "onInfo" | "mayCreate" | "mayUpgrade">;

/** A server as PostgreSQL knows it. */
export type PlacedServer = {
  id: string;
  address: string;
  /** The last block up to which it has everything, and the last removal that is applied there. */
  completeTo: number;
  removedTo: number;
  /** Since when it lacks blocks or removals, in milliseconds since 1970; null if reads may ask it. */
  behindSince: number | null;
  /** Since when it is in no setting. */
  leftAt: number | null;
  /** Its connection; null if this node can't reach it, and why. */
  clickHouse: PreparedServer | null;
  failure: unknown;
};

type Answers = {
  ids: ReadonlyMap<PreparedServer, string | null>;
  failures: ReadonlyMap<PreparedServer, unknown>;
};

/** The addresses in the setting, in its order. */
export function addressesIn(setting: string): string[] {
  return setting.split(",");
}

/**
 * The servers of ClickHouse. Each has all blocks; PostgreSQL knows how far. A read asks the first that is current, and
 * the next one if that can't be reached.
 *
 * Invariant: a server that lacks a block up to the cut, or a removal that was answered, is not read. Checked by
 * `server/storage/clickhouse/two-servers.test.ts`.
 */
export class Servers implements Reader {
  /** In the order of the setting. */
  readonly all: readonly PreparedServer[];
  readonly #runQuery: Query;
  readonly #ranges: Ranges;
  readonly #watch: Watch;
  readonly #owner: string;
  /** Why servers by name can't take their part, beside not being reached. */
  readonly #troubles = new Map<string, string>();

  /** @param owner - the id of the PostgreSQL database, when this process began */
  constructor(all: readonly PreparedServer[], runQuery: Query, ranges: Ranges, watch: Watch, owner: string) {
    this.all = all;
    this.#runQuery = runQuery;
    this.#ranges = ranges;
    this.#watch = watch;
    this.#owner = owner;
  }

  /** Throws `UnfitDatabase` if the events were moved back since this process began. */
  async requireOwned(): Promise<void> {
    if ((await knownOwner(this.#runQuery)) === this.#owner) return;
    throw new UnfitDatabase(
      "All events were moved back into PostgreSQL. Remove CLICKHOUSE_URL and restart the node.",
    );
  }

  read<Row>(sql: string, parameters?: Parameters, limit?: ReadLimit): Promise<Row[]> {
    return this.#firstAble((server) => server.read<Row>(sql, parameters, limit));
  }

  /** What was delivered can't be taken back: after it, another server can't answer. */
  async *stream(
    sql: string,
    parameters: Parameters,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    const { chunks, first } = await this.#firstAble(async (server) => {
      const begun = server.stream(sql, parameters, signal)[Symbol.asyncIterator]();
      return { first: await begun.next(), chunks: begun };
    });
    if (first.done) return;
    try {
      yield first.value;
      for (let chunk = await chunks.next(); !chunk.done; chunk = await chunks.next()) yield chunk.value;
    } finally {
      await chunks.return?.();
    }
  }

  async #firstAble<Result>(ask: (server: PreparedServer) => Promise<Result>): Promise<Result> {
    const known = await this.#ranges.servers();
    let failure: unknown;
    for (const server of this.all) {
      try {
        const id = await server.id();
        // An id that PostgreSQL doesn't know can have changed.
        if (id === null || !known.has(id)) server.reset();
        else if (known.get(id)) return await ask(server);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        failure ??= error;
      }
    }
    throw failure ?? olderProblem("away", "no server of CLICKHOUSE_URL has all events that were moved");
  }

  /** All servers that PostgreSQL knows, those of the setting first. */
  async placed(): Promise<PlacedServer[]> {
    return this.#placedOn(await this.#askIds());
  }

  /** The ids of the servers that answer, null for one that has none yet, and why others don't. */
  async #askIds(): Promise<Answers> {
    const ids = new Map<PreparedServer, string | null>();
    const failures = new Map<PreparedServer, unknown>();
    for (const server of this.all) {
      try {
        ids.set(server, await server.id());
      } catch (error) {
        if (!isOfServer(error)) throw error;
        failures.set(server, error);
      }
    }
    return { ids, failures };
  }

  async #placedOn({ ids, failures }: Answers): Promise<PlacedServer[]> {
    const rows = await this.#runQuery<Omit<PlacedServer, "clickHouse" | "failure">>(
      `SELECT id, address, complete_to AS "completeTo", removed_to AS "removedTo", behind_since AS "behindSince",
         left_at AS "leftAt"
       FROM clickhouse_servers ORDER BY address`,
    );
    const placed = rows.map((row) => {
      const clickHouse = this.all.find((server) => ids.get(server) === row.id) ?? null;
      const named = this.all.find(({ name }) => name === row.address);
      const failure = (named && failures.get(named)) ?? olderProblem("away", `${row.address} is not reached`);
      // Another node can have done what failed here.
      if (clickHouse !== null && row.behindSince === null) this.clear(clickHouse);
      return { ...row, clickHouse, failure };
    });
    const placeOf = ({ clickHouse, address }: PlacedServer) =>
      this.all.findIndex((server) => server === clickHouse || server.name === address) >>> 0;
    return placed.sort((a, b) => placeOf(a) - placeOf(b));
  }

  /**
   * Adds servers of the setting, and notes those that are in it no longer. One that PostgreSQL doesn't know begins
   * empty, as it may have events that were erased: only while another one answers and has all events. One node at a
   * time calls this.
   *
   * Throws `older-events-unavailable` if no server answers.
   */
  async join(nowMs: number): Promise<void> {
    const answers = await this.#askIds();
    const { ids, failures } = answers;
    if (ids.size === 0) throw [...failures.values()][0];
    const placed = await this.#placedOn(answers);
    const hasShipped = (await this.#ranges.newestCut()) !== null;
    const isSafe = placed.some(({ clickHouse, behindSince }) => clickHouse !== null && behindSince === null);
    for (const [server, id] of ids) {
      const own = placed.find(({ clickHouse }) => clickHouse === server);
      if (own) {
        if (own.address !== server.name || own.leftAt !== null)
          await this.#runQuery("UPDATE clickhouse_servers SET address = $2, left_at = NULL WHERE id = $1", [
            own.id,
            server.name,
          ]);
      } else if (placed.some((other) => other.id === id)) {
        this.trouble(server, "It is the same database as another one of CLICKHOUSE_URL, or a copy of it");
      } else if (hasShipped && !isSafe) {
        this.trouble(
          server,
          "It is not known here, and begins empty when another server answers that has all events",
        );
      } else await this.#add(server, nowMs);
    }
    const addresses = new Set(this.all.map(({ name }) => name));
    const left = placed.filter(
      ({ clickHouse, address, leftAt }) => clickHouse === null && leftAt === null && !addresses.has(address),
    );
    if (left.length === 0) return;
    const leftIds = uuids(left.map(({ id }) => id));
    await this.#runQuery("UPDATE clickhouse_servers SET left_at = $2 WHERE id = ANY ($1::uuid[])", [
      leftIds,
      nowMs,
    ]);
    await this.#runQuery("SELECT leave_behind($1, 0, $2)", [leftIds, nowMs]);
  }

  async #add(server: PreparedServer, nowMs: number): Promise<void> {
    const id = crypto.randomUUID();
    await this.#runQuery(
      `WITH former AS (DELETE FROM clickhouse_servers WHERE address = $2)
       INSERT INTO clickhouse_servers (id, address, complete_to, removed_to, behind_since)
       SELECT $1, $2, 0, (SELECT coalesce(max(number), 0) FROM shipped_removals),
         CASE WHEN EXISTS (SELECT FROM shipped_ranges WHERE shipped_at IS NOT NULL) THEN $3::bigint END`,
      [id, server.name, nowMs],
    );
    await beginEmpty(server, id);
    this.clear(server);
    this.#watch.onInfo("ClickHouse server added", { server: server.name });
  }

  /** Whether a server lacks a block. One that was replaced lacks nothing. */
  async lacks(id: string, block: number): Promise<boolean> {
    const rows = await this.#runQuery("SELECT FROM clickhouse_servers WHERE id = $1 AND complete_to < $2", [
      id,
      block,
    ]);
    return rows.length > 0;
  }

  /** Why a server can't take its part; null if nothing is known. */
  troubleOf(server: PreparedServer): string | null {
    return server.failure ?? this.#troubles.get(server.name) ?? null;
  }

  /** Notes why a server can't take its part. It is logged once. */
  trouble({ name, failure }: PreparedServer, why: string): void {
    // The log has that already.
    if (failure === null && this.#troubles.get(name) !== why)
      this.#watch.onWarning(`ClickHouse at ${name}: ${why}.`);
    this.#troubles.set(name, why);
  }

  clear({ name }: PreparedServer): void {
    this.#troubles.delete(name);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((server) => server.close()));
  }
}

/**
 * Opens the servers of a setting and prepares their tables. Those that don't respond follow once they do.
 *
 * Throws `UnfitDatabase` if all respond and none can be used.
 */
export async function openServers(
  setting: string,
  runQuery: Query,
  ranges: Ranges,
  watch: Watch,
): Promise<Servers> {
  const owner = await ownerOf(runQuery);
  const connections = addressesIn(setting).map((url) => connect(url, watch));
  const names = connections.map(({ name }) => name);
  const servers = connections.map((connection) =>
    prepared(connection, runQuery, { ...watch, names, ranges }),
  );
  const faults: UnfitDatabase[] = [];
  for (const server of servers) {
    try {
      await server.prepare();
    } catch (error) {
      if (error instanceof UnfitDatabase) faults.push(error);
      else if (!isOlderUnavailable(error)) throw error;
    }
  }
  const opened = new Servers(servers, runQuery, ranges, watch, owner);
  if (faults.length === servers.length) {
    await opened.close();
    throw faults[0]!;
  }
  for (const { message } of faults) watch.onWarning(message);
  return opened;
}

/**
 * Calls each of the servers, one after the other. Returns the results of those that could answer, and the failures of the
 * others. Throws the first failure if none could.
 */
export async function onEach<Result>(
  placed: readonly PlacedServer[],
  call: (server: PreparedServer, placed: PlacedServer) => Promise<Result>,
): Promise<{ results: Map<PlacedServer, Result>; failures: Map<PlacedServer, unknown> }> {
  const results = new Map<PlacedServer, Result>();
  const failures = new Map<PlacedServer, unknown>();
  for (const server of placed) {
    try {
      if (server.clickHouse === null) throw server.failure;
      results.set(server, await call(server.clickHouse, server));
    } catch (error) {
      if (!isOfServer(error)) throw error;
      failures.set(server, error);
    }
  }
  return { results, failures };
}

/** Whether an error is that of one server, so that others can go on. */
export function isOfServer(error: unknown): boolean {
  return isOlderUnavailable(error) || error instanceof UnfitDatabase;
}

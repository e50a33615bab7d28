import { Readable } from "node:stream";
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  createClient,
  EXCEPTION_TAG_HEADER_NAME,
  extractErrorAtTheEndOfChunk,
} from "@clickhouse/client";
import { Turns } from "../../scheduling/turns.ts";
import type { StoreWatch } from "../store.ts";
import { Availability } from "./availability.ts";

/** The maximum length of a statement. One can name thousands of events, or have rows with it (`sent-rows.ts`). */
const statementBytesMax = 134_217_728;
/** The time limit of a statement, on both sides: by default, and at most. */
const readMs = 30_000;
const longestMs = 600_000;

/** Values of `{name:Type}` in a statement. */
export type Parameters = Record<string, unknown>;

/** What ends a statement: a time, 30 seconds by default, and whoever no longer waits for its answer. */
export type ReadLimit = { timeoutMs?: number; signal?: AbortSignal | undefined };

/** Statements that read. They throw `older-events-unavailable` if ClickHouse can't answer. */
export type Reader = {
  read: <Row>(sql: string, parameters?: Parameters, limit?: ReadLimit) => Promise<Row[]>;
  /** The answer as it comes: the statement names its format. It takes as long as its reader. */
  stream: (sql: string, parameters: Parameters, signal: AbortSignal | undefined) => AsyncIterable<Uint8Array>;
};

/** Statements for the database of one server. */
export type ClickHouse = Reader & {
  /** Host, port and database. */
  readonly name: string;
  /** Why statements fail; null if they don't, as far as is known. */
  readonly failure: string | null;
  run: (sql: string, parameters?: Parameters, timeoutMs?: number) => Promise<void>;
  insert: (
    table: string,
    rows: AsyncIterable<object>,
    settings: Record<string, string | number>,
    timeoutMs: number,
  ) => Promise<void>;
  close: () => Promise<void>;
};

/** @param url - such as `https://user:password@clickhouse.example.com:8443/tidings`; the path is the database */
export function connect(
  url: string,
  { onWarning, onInfo }: Pick<StoreWatch, "onWarning" | "onInfo">,
): ClickHouse {
  const client: ClickHouseClient = createClient({
    url,
    application: "tidings",
    // Errors are reported with what failed because of them.
    log: { level: ClickHouseLogLevel.OFF },
    // Statements have limits of their own.
    request_timeout: longestMs,
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 1,
      max_query_size: String(statementBytesMax),
      // A statement whose reader has gone ends.
      cancel_http_readonly_queries_on_client_close: 1,
      // Keeps proxies from closing the connection of a long statement.
      send_progress_in_http_headers: 1,
      http_headers_progress_interval_ms: "20000",
    },
  });

  const { host, pathname } = new URL(url);
  const name = host + pathname;
  const availability = new Availability({
    name,
    async ping(signal) {
      const result = await client.ping({ select: false, abort_signal: signal });
      if (!result.success) throw result.error;
    },
    onWarning,
    onInfo,
  });

  /** The server ends a statement too, so that one that nobody waits for doesn't go on. */
  function within<Result>(
    timeoutMs: number,
    run: (options: {
      abort_signal: AbortSignal;
      clickhouse_settings: { max_execution_time: number };
    }) => Promise<Result>,
    reader?: AbortSignal,
  ): Promise<Result> {
    return availability.run(
      timeoutMs,
      (signal) =>
        run({
          abort_signal: signal,
          clickhouse_settings: { max_execution_time: Math.ceil(timeoutMs / 1_000) },
        }),
      reader,
    );
  }

  return {
    name,
    get failure() {
      return availability.failure;
    },
    read: (sql, parameters = {}, { timeoutMs = readMs, signal } = {}) =>
      within(
        timeoutMs,
        async (options) => {
          const result = await client.query({
            query: sql,
            query_params: parameters,
            format: "JSONEachRow",
            ...options,
          });
          return rowsOf(result.stream());
        },
        signal,
      ),
    stream: (sql, parameters, signal) =>
      availability.stream(longestMs, signal, async function* (abort_signal) {
        const { stream, response_headers } = await client.exec({
          query: sql,
          query_params: parameters,
          abort_signal,
          // A reader can rest for a while.
          clickhouse_settings: { http_send_timeout: longestMs / 1_000 },
        });
        const tag = String(response_headers[EXCEPTION_TAG_HEADER_NAME]);
        for await (const chunk of stream as AsyncIterable<Uint8Array>) {
          if (isException(chunk, tag)) throw extractErrorAtTheEndOfChunk(chunk, tag);
          yield chunk;
        }
      }),
    run: (sql, parameters = {}, timeoutMs = readMs) =>
      within(timeoutMs, async (options) => {
        await client.command({ query: sql, query_params: parameters, ...options });
      }),
    insert: (table, rows, settings, timeoutMs) =>
      within(timeoutMs, async ({ abort_signal, clickhouse_settings }) => {
        const source = new AbortController();
        // As text: the client prints errors of streams that it encodes itself.
        const lines = Readable.from(linesOf(rows, source), { objectMode: false });
        try {
          const { stream } = await client.exec({
            query: `INSERT INTO ${table} FORMAT JSONEachRow`,
            values: lines,
            abort_signal: AbortSignal.any([abort_signal, source.signal]),
            clickhouse_settings: { ...clickhouse_settings, ...settings },
          });
          for await (const _ of stream);
        } catch (error) {
          throw source.signal.aborted ? source.signal.reason : error;
        }
      }),
    async close() {
      availability.close();
      await client.close();
    },
  };
}

/** Reads rows in turns: there can be hundreds of thousands. */
async function rowsOf<Row>(stream: AsyncIterable<{ json: () => unknown }[]>): Promise<Row[]> {
  const rows: Row[] = [];
  const turns = new Turns("server");
  for await (const some of stream) {
    for (const row of some) {
      rows.push(row.json() as Row);
      if (turns.isOver) await turns.next();
    }
  }
  return rows;
}

/** Rows as JSON. If they fail, `source` aborts the request: an end would store those so far. */
async function* linesOf(rows: AsyncIterable<object>, source: AbortController): AsyncGenerator<string> {
  try {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
  } catch (error) {
    source.abort(error);
    await new Promise(() => {});
  }
}

/**
 * Whether a chunk ends with the error of a statement that failed after its answer had begun
 * (https://clickhouse.com/docs/interfaces/http#http_response_codes_caveats).
 *
 * @param tag - a random text that the answer's headers announce
 */
function isException(chunk: Uint8Array, tag: string): boolean {
  const end = `${tag}\r\n__exception__\r\n`;
  return Buffer.from(chunk.subarray(-end.length)).toString("latin1") === end;
}

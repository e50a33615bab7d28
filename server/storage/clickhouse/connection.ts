import { Readable } from "node:stream";
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { ProblemError, problem } from "../../core/problems.ts";

/** The maximum length of a statement. */
const statementBytesMax = 16_777_216;
/** The time limit of a statement, on both sides: by default, and at most. */
const readMs = 30_000;
const longestMs = 600_000;

/**
 * Codes of failures that pass by themselves or once the server is fixed
 * (https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp): time-outs, too many queries or parts,
 * memory, disk, a server that starts or stops, and credentials.
 */
const unavailable = new Set([
  "159",
  "160",
  "164",
  "202",
  "203",
  "236",
  "241",
  "243",
  "252",
  "394",
  "497",
  "516",
  "734",
]);

/** Values of `{name:Type}` in a statement. */
export type Parameters = Record<string, unknown>;

/** Statements for one ClickHouse database. They throw `storage-unavailable` if it can't answer. */
export type ClickHouse = {
  read: <Row>(sql: string, parameters?: Parameters, timeoutMs?: number) => Promise<Row[]>;
  /** The answer as it comes: the statement names its format. It takes as long as its reader. */
  stream: (sql: string, parameters: Parameters, signal: AbortSignal | undefined) => AsyncIterable<Uint8Array>;
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
export function connect(url: string): ClickHouse {
  const client: ClickHouseClient = createClient({
    url,
    application: "tidings",
    // Errors are reported with what failed because of them.
    log: { level: ClickHouseLogLevel.OFF },
    // Statements have limits of their own.
    request_timeout: longestMs,
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 1,
      // Statements can name thousands of events.
      max_query_size: String(statementBytesMax),
      // Keeps proxies from closing the connection of a long statement.
      send_progress_in_http_headers: 1,
      http_headers_progress_interval_ms: "20000",
    },
  });

  /** The server ends a statement too, so that one that nobody waits for doesn't go on. */
  async function within<Result>(
    timeoutMs: number,
    run: (options: {
      abort_signal: AbortSignal;
      clickhouse_settings: { max_execution_time: number };
    }) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await run({
        abort_signal: AbortSignal.timeout(timeoutMs),
        clickhouse_settings: { max_execution_time: Math.ceil(timeoutMs / 1_000) },
      });
    } catch (error) {
      throw clickHouseProblem(error);
    }
  }

  return {
    read: (sql, parameters = {}, timeoutMs = readMs) =>
      within(timeoutMs, async (options) => {
        const result = await client.query({
          query: sql,
          query_params: parameters,
          format: "JSONEachRow",
          ...options,
        });
        return result.json();
      }),
    async *stream(sql, parameters, signal) {
      try {
        const { stream } = await client.exec({
          query: sql,
          query_params: parameters,
          abort_signal: AbortSignal.any([AbortSignal.timeout(longestMs), ...(signal ? [signal] : [])]),
          // A reader can rest for a while.
          clickhouse_settings: { http_send_timeout: longestMs / 1_000 },
        });
        yield* stream as AsyncIterable<Uint8Array>;
      } catch (error) {
        signal?.throwIfAborted();
        throw clickHouseProblem(error);
      }
    },
    run: (sql, parameters = {}, timeoutMs = readMs) =>
      within(timeoutMs, async (options) => {
        await client.command({ query: sql, query_params: parameters, ...options });
      }),
    insert: (table, rows, settings, timeoutMs) =>
      within(timeoutMs, async ({ abort_signal, clickhouse_settings }) => {
        await client.insert({
          table,
          values: Readable.from(rows),
          format: "JSONEachRow",
          abort_signal,
          clickhouse_settings: { ...clickhouse_settings, ...settings },
        });
      }),
    close: () => client.close(),
  };
}

/** The error to throw for a failed statement. A mistake in the statement is returned unchanged. */
function clickHouseProblem(error: unknown): unknown {
  if (error instanceof ProblemError) return error;
  if (error instanceof ClickHouseError && !unavailable.has(error.code)) return error;
  if (error instanceof TypeError && !/fetch|connect|socket/i.test(error.message)) return error;
  const { code, message } = error as { code?: string; message: string };
  return problem("storage-unavailable", {
    detail:
      "Older events are in ClickHouse, which does not respond. New events are recorded. Try again later.",
    retryAfterSeconds: 5,
    log: { code, message },
  });
}

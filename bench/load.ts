/**
 * The load generator: a closed loop over raw TCP, in a separate process. It reads a `LoadJob` as JSON from stdin and
 * prints a `LoadResult` as JSON on stdout. It shares the machine with the server that it measures, so it spends as
 * little as possible on a request: requests are prebuilt bytes, and only the status and length of responses are read.
 */

import { runJob } from "./job.ts";
import { Latencies } from "./latencies.ts";

export type LoadJob = {
  /** The ports of one or more servers; connections are assigned to them in turn. */
  ports: number[];
  /** Kept-alive connections, each with one request in flight. */
  connections: number;
  /** Not counted, while the server compiles its code and fills its caches. */
  warmupMs: number;
  durationMs: number;
  /** Any other status fails the run. */
  expectedStatus: number;
  /** Complete HTTP/1.1 requests, sent in turn over all connections. */
  requests: string[];
  /**
   * Parts of requests that are different each time: they are replaced with the number of the request, divided by
   * `every`, in hexadecimal digits. Colons in the text stay.
   */
  numbered?: { text: string; every: number }[];
};

export type LoadResult = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** The number of responses behind the figures above. */
  counted: number;
  /** Every response with the expected status, including those of the warm-up and those in flight at the end. */
  acknowledged: number;
  /** The generator's own processor time per request, in microseconds. */
  generatorCpuUs: number;
};

type Connection = {
  sentAt: number;
  /** Bytes of the current response that have not arrived yet. */
  missing: number;
  /** The start of a response whose head has not arrived completely. */
  head: Uint8Array | undefined;
};

/** Runs the job in this process. Rejects if a connection breaks or a response is not as expected. */
export async function load(job: LoadJob): Promise<LoadResult> {
  const requests = job.requests.map((request) => Buffer.from(request));
  const numbers = requests.map((request) =>
    (job.numbered ?? [])
      .map(({ text, every }) => ({ start: request.indexOf(text), length: text.length, every }))
      .filter(({ start }) => start >= 0),
  );
  const expected = [...String(job.expectedStatus)].map((digit) => digit.charCodeAt(0));
  const [digit0, digit1, digit2] = expected as [number, number, number];
  // The response to a request without content has neither a length nor a body.
  const isEmpty = job.expectedStatus === 204;
  const latencies = new Latencies();
  let next = 0;
  let sent = 0;
  let acknowledged = 0;
  let open = 0;
  let stopping = false;
  let countedMs = job.durationMs;
  const startedAt = performance.now();
  const countFrom = startedAt + job.warmupMs;
  const countUntil = countFrom + job.durationMs;
  const { promise: finished, resolve: finish, reject: fail } = Promise.withResolvers<void>();

  // Response heads all look alike, so look first where the last length was found.
  let lengthAt = 0;

  // Only requests larger than the socket's buffer wait here.
  const unsent = new Map<Bun.Socket<Connection>, Uint8Array>();
  const send = (socket: Bun.Socket<Connection>) => {
    const request = requests[next]!;
    for (const { start, length, every } of numbers[next]!)
      writeHex(request, start, length, Math.floor(sent / every));
    sent++;
    next = next + 1 === requests.length ? 0 : next + 1;
    const written = socket.write(request);
    if (written !== request.length) unsent.set(socket, Buffer.from(request.subarray(Math.max(written, 0))));
  };
  const onResponse = (socket: Bun.Socket<Connection>, connection: Connection) => {
    acknowledged++;
    const now = performance.now();
    // A server that did not respond within the run is measured by its first response.
    if (now >= countUntil && latencies.count > 0) stopping = true;
    else if (now >= countFrom) {
      latencies.add(now - connection.sentAt);
      countedMs = Math.max(job.durationMs, now - countFrom);
    }
    if (stopping) {
      socket.end();
      return;
    }
    connection.sentAt = now;
    send(socket);
  };

  const handlers: Bun.SocketHandler<Connection> = {
    open(socket) {
      open++;
      socket.data.sentAt = performance.now();
      send(socket);
    },
    data(socket, chunk) {
      const connection = socket.data;
      if (connection.missing > 0) {
        connection.missing -= chunk.length;
        if (connection.missing === 0) onResponse(socket, connection);
        return;
      }
      let bytes = chunk;
      if (connection.head) {
        bytes = Buffer.concat([connection.head, chunk]);
        connection.head = undefined;
      }
      if (bytes.length < 12) {
        connection.head = bytes.slice();
        return;
      }
      // "HTTP/1.1 201": the status is at offset 9.
      if (bytes[9] !== digit0 || bytes[10] !== digit1 || bytes[11] !== digit2) {
        fail(new Error(`expected ${job.expectedStatus}, but the server responded:\n${Buffer.from(bytes)}`));
        return;
      }
      if (isEmpty) {
        const end = findBody(bytes, 0);
        if (end === bytes.length) onResponse(socket, connection);
        else if (end === 0) connection.head = bytes.slice();
        else fail(new Error("the server sent more than one response"));
        return;
      }
      if (!isContentLength(bytes, lengthAt)) lengthAt = findContentLength(bytes);
      const bodyAt = findBody(bytes, lengthAt);
      if (lengthAt === 0 || bodyAt === 0) {
        if (bodyAt !== 0) fail(new Error(`no content-length in the answer:\n${Buffer.from(bytes)}`));
        connection.head = bytes.slice();
        return;
      }
      const missing = bodyAt + readNumber(bytes, lengthAt) - bytes.length;
      if (missing === 0) onResponse(socket, connection);
      else if (missing > 0) connection.missing = missing;
      else fail(new Error("the server sent more than one response"));
    },
    drain(socket) {
      const rest = unsent.get(socket);
      if (!rest) return;
      const written = socket.write(rest);
      if (written === rest.length) unsent.delete(socket);
      else unsent.set(socket, rest.subarray(Math.max(written, 0)));
    },
    close() {
      if (!stopping) fail(new Error("the server closed a connection"));
      else if (--open === 0) finish();
    },
    error(_socket, error) {
      fail(error);
    },
  };

  const cpuBefore = process.cpuUsage();
  const connections = Array.from({ length: job.connections }, (_, number) =>
    Bun.connect({
      hostname: "127.0.0.1",
      port: job.ports[number % job.ports.length]!,
      socket: handlers,
      data: { sentAt: 0, missing: 0, head: undefined },
    }),
  );
  await Promise.all([...connections, finished]);
  const cpu = process.cpuUsage(cpuBefore);
  return {
    perSecond: latencies.count / (countedMs / 1_000),
    p50Ms: latencies.percentile(0.5),
    p99Ms: latencies.percentile(0.99),
    maxMs: latencies.slowestMs,
    counted: latencies.count,
    acknowledged,
    generatorCpuUs: (cpu.user + cpu.system) / acknowledged,
  };
}

const hexDigits = Buffer.from("0123456789abcdef");
const colon = 58;

/** Writes a number over the digits of a text, from its end. */
function writeHex(bytes: Uint8Array, start: number, length: number, number: number): void {
  let left = number;
  for (let at = start + length - 1; at >= start; at--) {
    if (bytes[at] === colon) continue;
    bytes[at] = hexDigits[left % 16]!;
    left = Math.floor(left / 16);
  }
}

const contentLength = [...Buffer.from("\ncontent-length:")];

/** Whether the value of a content-length header begins at `at`. */
function isContentLength(bytes: Uint8Array, at: number): boolean {
  const from = at - contentLength.length;
  if (from < 0 || at >= bytes.length) return false;
  // 0x20 turns ASCII letters to lower case; ":" and "-" have that bit already, and "\n" is compared without it.
  if (bytes[from] !== 10) return false;
  for (let i = 1; i < contentLength.length; i++) {
    if ((bytes[from + i]! | 0x20) !== contentLength[i]) return false;
  }
  return true;
}

/** The offset of the content-length header's value, or 0. */
function findContentLength(bytes: Uint8Array): number {
  for (let at = contentLength.length; at < bytes.length; at++) {
    if (isContentLength(bytes, at)) return at;
  }
  return 0;
}

/** The offset of the body, or 0 while the head is incomplete. */
function findBody(bytes: Uint8Array, from: number): number {
  for (let at = from + 3; at < bytes.length; at++) {
    if (bytes[at] === 10 && bytes[at - 1] === 13 && bytes[at - 2] === 10 && bytes[at - 3] === 13)
      return at + 1;
  }
  return 0;
}

function readNumber(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 32) at++;
  let value = 0;
  for (; bytes[at]! >= 48 && bytes[at]! <= 57; at++) value = value * 10 + bytes[at]! - 48;
  return value;
}

if (import.meta.main) await runJob(load);

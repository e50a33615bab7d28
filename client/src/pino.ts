import { writeSync } from "node:fs";
import { Writable } from "node:stream";
import { codeBlock, eventLimits, fitLine, fitLines } from "./event-text.ts";
import { type ClientOptions, createClient, type TrackedEvent } from "./index.ts";

export type PinoTransportOptions = Pick<
  ClientOptions,
  "baseUrl" | "apiKey" | "retries" | "timeoutMs" | "batching" | "disabled"
> & {
  /** Default: `logs`. */
  channel?: string;
  /** The lowest level to send: a name of Pino's levels, or a number. Default: `info`. */
  level?: string | number;
  /** Notifies the project's members of logs from this level. By default, none. */
  notifyLevel?: string | number;
  /** The property with the user of your application. Default: `userId`. */
  userIdKey?: string;
  /** Pino's option of the same name. Default: `msg`. */
  messageKey?: string;
  /** Pino's option of the same name. Default: `err`. */
  errorKey?: string;
};

/** A stream of Pino's lines. `flush` resolves to false if the server can't be reached; events then stay queued. */
export type PinoTransport = Writable & { flush(): Promise<boolean> };

type Log = Record<string, unknown>;

const levels: Record<string, number> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 };
const levelNames = new Map(Object.entries(levels).map(([name, level]) => [level, name]));

/** Times below are in seconds: this many milliseconds after 1970 was in 1973. */
const secondsMax = 1e11;
/** The file descriptor. */
const stderr = 2;
/** Characters that JSON in a description should at least have room for. */
const usefulJsonCharacters = 100;
/** Pino waits ten seconds for its transports when a process ends. */
const shutdownTimeoutMs = 8_000;

/**
 * A transport for Pino that captures an event for each log: `msg` is the name, other properties are tags, and an
 * error's stack is the description. What doesn't fit into name and tags stands in the description. Sends what is left
 * when the process ends.
 *
 * @example
 * const logger = pino({
 *   transport: { target: "@tidings/client/pino", options: { baseUrl, apiKey, channel: "logs", level: "warn" } },
 * });
 */
export default function pinoTransport(options: PinoTransportOptions): PinoTransport {
  const tidings = createClient({
    ...options,
    onDrop(events, reason, error) {
      // What a worker writes to the console while the process ends is lost.
      writeSync(stderr, `Tidings: ${events.length} logs dropped (${reason}).${error ? ` ${error}` : ""}\n`);
    },
  });
  const minimum = levelOf(options.level ?? "info", "level");
  const notifyFrom =
    options.notifyLevel === undefined
      ? Number.POSITIVE_INFINITY
      : levelOf(options.notifyLevel, "notifyLevel");
  const decoder = new TextDecoder();
  /** The beginning of a line. */
  let rest = "";

  function captureLine(line: string): void {
    if (line.trim() === "") return;
    const log = parse(line);
    const level = typeof log.level === "string" ? levels[log.level] : Number(log.level);
    // Custom levels that are written as names have no order here.
    if (level !== undefined && level < minimum) return;
    tidings.capture(eventOf(log, level !== undefined && level >= notifyFrom, options));
  }

  const stream = new Writable({
    write(chunk: Uint8Array, _, done) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) captureLine(line);
      done();
    },
    final(done) {
      captureLine(rest);
      tidings.shutdown({ timeoutMs: shutdownTimeoutMs }).then(() => done(), done);
    },
  });
  return Object.assign(stream, { flush: () => tidings.flush() });
}

function levelOf(level: string | number, option: string): number {
  const number = typeof level === "number" ? level : levels[level];
  if (number !== undefined) return number;
  throw new TypeError(`\`${option}\` must be a number or one of ${Object.keys(levels).join(", ")}.`);
}

/** A log's properties. A line that is not JSON, for example of another stream, is a message. */
function parse(line: string): Log {
  try {
    const log = JSON.parse(line);
    if (typeof log === "object" && log !== null) return log;
  } catch {
    // Below.
  }
  return { msg: line };
}

function eventOf(
  log: Log,
  notify: boolean,
  { channel = "logs", userIdKey = "userId", messageKey = "msg", errorKey = "err" }: PinoTransportOptions,
): TrackedEvent {
  const { level, time, [messageKey]: message, [userIdKey]: userId, [errorKey]: error, ...bindings } = log;
  const { stack, ...errorFields } = isObject(error) ? error : {};
  const text = [message, errorFields.message, error].find(isFilledText) ?? "Log without a message";
  const name = fitLine(text, eventLimits.name);
  if (errorFields.message === message) delete errorFields.message;
  // A cut ID could be another user's.
  const isUser = isScalar(userId) && fitLine(String(userId), eventLimits.userId) === String(userId);
  const properties: Log = {
    level: levelNames.get(Number(level)) ?? level,
    ...bindings,
    ...(!isFilledText(message) && { [messageKey]: message }),
    ...(!isUser && { [userIdKey]: userId }),
    [errorKey]: isObject(error) ? errorFields : error,
  };
  const { tags, isCut } = tagsOf(properties);
  const longText = name.endsWith("…") ? text : undefined;
  const description = describe([longText, stack], isCut ? properties : null);
  return {
    channel,
    name,
    ...(isUser && { userId: String(userId) }),
    ...(notify && { notify }),
    ...(description !== "" && { description }),
    createdAt: timeOf(time),
    tags,
  };
}

/** Texts in a code block, then the properties as JSON, as far as an event has room for them. */
function describe(texts: unknown[], properties: Log | null): string {
  const [text = "", stack = ""] = texts.map((each) => (isFilledText(each) ? each : ""));
  // A stack begins with its error's message.
  const whole = stack.includes(text) ? stack : [text, stack].filter(isFilledText).join("\n\n");
  const block = whole === "" ? "" : codeBlock(whole);
  if (properties === null) return block;
  const start = block === "" ? "" : `${block}\n\n`;
  const room = eventLimits.description - start.length;
  if (room < usefulJsonCharacters) return block;
  return start + codeBlock(JSON.stringify(properties, null, 2), { language: "json", max: room });
}

/** When a log happened, as Pino's time functions write it: seconds or milliseconds since 1970, or ISO 8601. */
function timeOf(time: unknown): number {
  const ms = typeof time === "string" ? Date.parse(time) : Number(time);
  if (!(ms > 0)) return Date.now();
  return ms < secondsMax ? ms * 1_000 : ms;
}

/**
 * The first properties that an event has room for, those of objects with dotted keys, and whether any was cut or left
 * out.
 */
function tagsOf(properties: Log): { tags: Record<string, string>; isCut: boolean } {
  const tags = new Map<string, string>();
  let isCut = false;
  for (const [path, value] of leavesOf(properties, "")) {
    const key = fitLine(path, eventLimits.tagKey);
    const tag = fitLines(value, eventLimits.tagValue);
    const isFit = tags.size < eventLimits.tags && isFilledText(key) && !tags.has(key);
    if (isFit) tags.set(key, tag);
    isCut ||= !isFit || tag.length !== value.length || key.length !== path.length;
  }
  return { tags: Object.fromEntries(tags), isCut };
}

function* leavesOf(properties: Log, prefix: string): Generator<[path: string, value: string]> {
  for (const [key, value] of Object.entries(properties)) {
    if (isObject(value)) yield* leavesOf(value, `${prefix}${key}.`);
    else if (isScalar(value)) yield [prefix + key, String(value)];
    else if (Array.isArray(value)) yield [prefix + key, JSON.stringify(value)];
  }
}

function isObject(value: unknown): value is Log {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isFilledText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

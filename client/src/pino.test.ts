import { afterAll, beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import pino from "pino";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import pinoTransport, { type PinoTransportOptions } from "./pino.ts";

// Real Pino, with the transport as a stream of this process. `package.test.ts` has it in Pino's worker thread.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** The events of what is logged, oldest first. */
async function logged(
  channel: string,
  log: (logger: pino.Logger) => void,
  {
    options = {},
    pinoOptions = {},
  }: { options?: Partial<PinoTransportOptions>; pinoOptions?: pino.LoggerOptions } = {},
) {
  const stream = pinoTransport({ baseUrl: app.address, apiKey: app.key, channel, ...options });
  log(pino({ level: "trace", base: null, ...pinoOptions }, stream));
  stream.end();
  await once(stream, "close");
  return app.list(`?channel=${channel}&order=asc`);
}

test("a log is an event: its message, time, level and bindings", async () => {
  const beforeMs = Date.now();
  const [event] = await logged("mapping", (logger) =>
    logger
      .child({ service: "billing" })
      .info({ userId: 42, order: { id: 7, items: ["a", "b"] }, coupon: null }, "Payment received"),
  );
  expect(event).toMatchObject({
    name: "Payment received",
    userId: "42",
    notify: false,
    tags: { level: "info", service: "billing", "order.id": "7", "order.items": '["a","b"]' },
  });
  expect(Object.keys(event!.tags)).not.toContain("coupon");
  expect(Date.parse(event!.createdAt)).toBeWithin(beforeMs, Date.now() + 1);
});

test("the level decides what is sent, and what notifies", async () => {
  const events = await logged(
    "levels",
    (logger) => {
      for (const level of ["debug", "info", "warn", "error", "fatal"] as const) logger[level](level);
    },
    { options: { level: "warn", notifyLevel: "fatal" } },
  );
  expect(events.map(({ name, notify }) => [name, notify])).toEqual([
    ["warn", false],
    ["error", false],
    ["fatal", true],
  ]);
  const unknown = { baseUrl: app.address, apiKey: app.key, level: "warning" };
  expect(() => pinoTransport(unknown)).toThrow("`level` must be a number or one of trace, debug");
});

test("an error's stack is the description, and its other properties are tags", async () => {
  const error = Object.assign(new TypeError("no stock"), { code: "E_STOCK" });
  const [bare, named] = await logged("errors", (logger) => {
    logger.error(error);
    logger.error({ err: error }, "Order failed");
  });
  expect(bare).toMatchObject({
    name: "no stock",
    tags: { level: "error", "err.type": "TypeError", "err.code": "E_STOCK" },
  });
  expect(bare!.description).toStartWith("```\nTypeError: no stock\n");
  expect(named).toMatchObject({ name: "Order failed", tags: { "err.message": "no stock" } });
});

test("logs that are too large or have no message are cut to what fits", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 80 }, (_, number) => [`key ${number}`, "x".repeat(2_000)]),
  );
  const [long, empty, odd] = await logged("large", (logger) => {
    logger.info(many, `first line\n${"x".repeat(300)}`);
    logger.info({});
    logger.info({ "": "no key", "a\u0000b": "\ud800" }, "odd");
  });
  expect(long!.name).toBe(`first line ${"x".repeat(188)}…`);
  const text = `\`\`\`\nfirst line\n${"x".repeat(300)}\n\`\`\`\n\n`;
  expect(long!.description).toStartWith(`${text}\`\`\`json\n{\n  "level": "info",\n  "key 0": "xxx`);
  expect(long!.description).toEndWith("…\n```");
  expect(long!.description).toHaveLength(10_000);
  expect(Object.keys(long!.tags).length).toBe(50);
  expect(empty!.name).toBe("Log without a message");
  expect(odd!.tags).toEqual({ level: "info", "a\ufffdb": "\ufffd" });
  expect(odd!.description).toContain('"": "no key"');
});

test("nothing is lost: long messages, values, keys and user IDs, and messages that are no texts", async () => {
  const message = `charged ${"x".repeat(250)}`;
  const [failed, cut, user, object, number] = await logged("kept", (logger) => {
    logger.error({ err: new TypeError("no stock") }, message);
    logger.info({ response: { body: "b".repeat(1_500) }, ["k".repeat(80)]: "v" }, "Cut");
    logger.info({ userId: "u".repeat(201) }, "Long user");
    logger.info({ msg: { order: { id: 7 } } });
    logger.info({ msg: 5, userId: { id: 7 } });
  });
  expect(failed!.description).toStartWith(`\`\`\`\n${message}\n\nTypeError: no stock\n`);
  expect(failed!.tags).toEqual({ level: "error", "err.type": "TypeError", "err.message": "no stock" });
  const inDescription = JSON.parse(/^```json\n([\s\S]*)\n```$/.exec(cut!.description!)![1]!);
  expect(inDescription).toMatchObject({ response: { body: "b".repeat(1_500) }, ["k".repeat(80)]: "v" });
  expect([user!.userId, user!.tags.userId]).toEqual(["", "u".repeat(201)]);
  expect(object!.tags).toEqual({ level: "info", "msg.order.id": "7" });
  expect(number!.tags).toEqual({ level: "info", msg: "5", "userId.id": "7" });
});

test("Pino's other times, keys and level names are understood", async () => {
  for (const [format, timestamp] of Object.entries({
    iso: pino.stdTimeFunctions.isoTime,
    seconds: pino.stdTimeFunctions.unixTime,
    none: false,
  } as const)) {
    const beforeMs = Date.now();
    const [event] = await logged(
      `times-${format}`,
      (logger) => logger.warn({ problem: new Error("no") }, "n"),
      {
        options: { messageKey: "text", errorKey: "problem" },
        pinoOptions: {
          timestamp,
          messageKey: "text",
          errorKey: "problem",
          formatters: { level: (label) => ({ level: label }) },
        },
      },
    );
    expect(event).toMatchObject({ name: "n", tags: { level: "warn", "problem.type": "Error" } });
    // Whole seconds are rounded.
    expect(Date.parse(event!.createdAt)).toBeWithin(beforeMs - 1_000, Date.now() + 1_000);
  }
});

test("lines can come in pieces, and a line that is not JSON is a message", async () => {
  const stream = pinoTransport({ baseUrl: app.address, apiKey: app.key, channel: "pieces" });
  const bytes = Buffer.from('{"level":30,"msg":"Größe"}\nlistening on 80\n{"level":30,"msg":"last"}');
  for (const byte of bytes) stream.write(Uint8Array.of(byte));
  stream.end();
  await once(stream, "close");
  const names = (await app.list("?channel=pieces&order=asc")).map(({ name }) => name);
  expect(names).toEqual(["Größe", "listening on 80", "last"]);
});

test("flush sends what was logged", async () => {
  const stream = pinoTransport({ baseUrl: app.address, apiKey: app.key, channel: "flush" });
  const logger = pino(stream);
  logger.info("n");
  expect(await stream.flush()).toBe(true);
  const [event] = await app.list("?channel=flush");
  expect(event!.tags).toEqual({ level: "info", pid: String(process.pid), hostname: expect.any(String) });
  stream.destroy();
});

// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { Problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { BatchResponse, LinesResponse } from "../schemas/batch.ts";
import type { Channel } from "../schemas/channel.ts";
import { anyBody, validEvent } from "../testing/arbitraries.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { scenarios, send } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ rejectedEvents: 20 });
});
afterAll(() => app[Symbol.asyncDispose]());

const ok = { channel: "payments", name: "Payment received" };
const bad = { channel: "payments", name: 7 };
const ndjson = { "content-type": "application/x-ndjson" };
const ids = (events: { id: string }[]) => events.map(({ id }) => id).sort();

async function postBatch(items: unknown[]): Promise<BatchResponse & { status: number }> {
  const response = await app.post(items);
  return { status: response.status, ...((await response.json()) as BatchResponse) };
}

/** A project of its own, to compare its listing with what was sent. */
async function newKey(): Promise<string> {
  const name = `batch ${Math.random()}`;
  return (await app.another(name, `${name.replace(/\W/g, "")}@example.com`)).secret;
}

describe("an array of events", () => {
  const known = Bun.randomUUIDv7();
  scenarios(
    () => app,
    [
      {
        name: "is accepted as a whole",
        body: [ok, { ...ok, id: known }],
        status: 201,
        holds: { ok: true, accepted: 2, rejected: 0, results: [{ ok: true }, { ok: true, id: known }] },
      },
      {
        name: "is accepted in part, with a verdict for each item in order",
        body: [ok, bad, "event", { ...ok, id: known }],
        status: 207,
        holds: {
          ok: false,
          accepted: 2,
          rejected: 2,
          results: [
            { ok: true },
            {
              ok: false,
              type: "/problems/body-invalid",
              status: 422,
              errors: [{ pointer: "/name", detail: '"name" must be a string, not a number.' }],
            },
            { ok: false, status: 422 },
            { ok: true, id: known },
          ],
        },
      },
      {
        name: "without an event is rejected",
        body: [],
        status: 422,
        holds: { type: "/problems/body-invalid" },
        says: ["empty"],
      },
      {
        name: "with more than 10,000 is rejected",
        body: Array.from({ length: limits.batchEvents + 1 }, () => ok),
        status: 413,
        says: ["10,000", "application/x-ndjson"],
      },
      { name: "cut off in the middle is rejected", body: '[{"channel":"a","name":"b"},', status: 400 },
      { name: "without a key is rejected", body: [ok], key: null, status: 401 },
    ],
  );

  test("with an event that has many mistakes lists some of them and counts all", async () => {
    const tags = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`tag${n}`, n]));
    const { results } = await postBatch([{ ...ok, tags }, ok]);
    const rejected = results[0] as Problem;
    expect(rejected.errors).toHaveLength(limits.itemFaults);
    expect(rejected.detail).toContain("(and 49 more)");
  });

  test("of which all are rejected gets 422, with a result for each", async () => {
    const answer = await postBatch([bad, bad]);
    expect(answer).toMatchObject({ status: 422, ok: false, accepted: 0, rejected: 2 });
    expect(answer.results).toHaveLength(2);
  });

  test("with the same id several times records one event", async () => {
    const id = Bun.randomUUIDv7();
    const answer = await postBatch(
      Array.from({ length: 1_200 }, () => ({ channel: "twins", name: "n", id })),
    );
    expect(answer).toMatchObject({ status: 201, accepted: 1_200 });
    expect(await app.list("?channel=twins")).toMatchObject([{ id }]);
  });

  test("of 10,000 is stored in order, over several commits", async () => {
    const key = await newKey();
    const items = Array.from({ length: limits.batchEvents }, (_, n) => ({ channel: "c", name: `${n}` }));
    expect((await app.post(items, key)).status).toBe(201);
    const events = await app.list("?order=asc", key);
    expect(events.map(({ name }) => name)).toEqual(items.map(({ name }) => name));
    const { channels } = (await (await app.request("/api/channels", {}, key)).json()) as {
      channels: Channel[];
    };
    expect(channels).toMatchObject([{ id: "c", events: limits.batchEvents }]);
  });

  test("of 16 MB is accepted, and more is too large, with and without a length", async () => {
    const item = JSON.stringify({ ...ok, description: "x".repeat(9_900) });
    const sized = (bytes: number) => {
      const text = `[${Array.from({ length: Math.floor(bytes / (item.length + 1)) - 1 }, () => item).join()}]`;
      return text + " ".repeat(bytes - text.length);
    };
    const chunked = (text: string) => new Blob([text]).stream();
    for (const bodyOf of [(text: string) => text, chunked]) {
      expect((await send(app, { body: bodyOf(sized(limits.batchBytes)) })).status).toBe(201);
      const rejected = await send(app, { body: bodyOf(sized(limits.batchBytes + 1)) });
      expect(rejected.status).toBe(413);
      expect(await rejected.json()).toMatchObject({ type: "/problems/body-too-large" });
    }
    expect((await app.post(ok)).status).toBe(201);
  });

  test("reaches live streams in order, and notifies", async () => {
    using stream = await openStream(app);
    await stream.next("ready");
    const items = Array.from({ length: 700 }, (_, n) => ({ channel: "live", name: `${n}`, notify: n === 3 }));
    const { results } = await postBatch(items);
    for (const { name } of items)
      expect(JSON.parse((await stream.next("event"))!.data)).toMatchObject({ channelId: "live", name });
    const { id } = results[3] as { id: string };
    await untilFannedOut(app);
    const { deliveries } = (await (await app.request(`/api/events/${id}/deliveries`)).json()) as {
      deliveries: object[];
    };
    expect(deliveries).toMatchObject([{ kind: "dashboard", state: "delivered" }]);
  });

  test("doesn't block single events", async () => {
    const order: string[] = [];
    const batch = app
      .post(Array.from({ length: limits.batchEvents }, () => ok))
      .then(() => order.push("batch"));
    await Promise.all(Array.from({ length: 20 }, () => app.post(ok).then(() => order.push("single"))));
    await batch;
    expect(order.at(-1)).toBe("batch");
  });
});

describe("the listing contains what was accepted", () => {
  const seen = Bun.randomUUIDv7();
  const item = fc.oneof(
    validEvent,
    anyBody,
    validEvent.map((event) => ({ ...event, id: seen })),
    fc.uuid({ version: 7 }).chain((id) => validEvent.map((event) => ({ ...event, id }))),
  );

  test("of any array", async () => {
    const key = await newKey();
    const accepted = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 30 }), async (items) => {
        const response = await app.post(items, key);
        const answer = (await response.json()) as BatchResponse;
        expect(answer.results).toHaveLength(items.length);
        const good = answer.results.filter((result) => result.ok);
        expect([answer.accepted, answer.rejected]).toEqual([good.length, items.length - good.length]);
        expect(response.status).toBe(good.length === items.length ? 201 : good.length > 0 ? 207 : 422);
        // An item gets the same result alone as in an array.
        const at = Math.floor(items.length / 2);
        const alone = await app.post([items[at]], key);
        const [result] = ((await alone.json()) as BatchResponse).results;
        expect(result!.ok).toBe(answer.results[at]!.ok);
        for (const verdict of [...answer.results, result!]) if (verdict.ok) accepted.add(verdict.id);
      }),
      { numRuns: effort(30, 100) },
    );
    expect(ids(await app.list("", key))).toEqual([...accepted].sort());
  });

  test("of any lines, and rejected lines are reported", async () => {
    const key = await newKey();
    const accepted = new Set<string>();
    /** Each has an id, to find it by. */
    const named = fc.tuple(item, fc.uuid({ version: 7 })).map(([body, id]) => {
      const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
      return JSON.stringify(isObject ? { id, ...body } : body);
    });
    const line = fc.oneof(
      { weight: 4, arbitrary: named },
      fc.constantFrom("", "  ", "\r", "{", "nonsense", '{"channel":"a"} {}'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 30 }), fc.boolean(), async (lines, ends) => {
        const filled = lines.flatMap((text, index) =>
          text.trim() === "" ? [] : [{ text, number: index + 1 }],
        );
        const body = lines.join("\n") + (ends ? "\n" : "");
        const response = await send(app, { headers: ndjson, body, key });
        if (filled.length === 0) return expect(response.status).toBe(400);
        const answer = (await response.json()) as LinesResponse;
        const rejected = new Set(answer.rejections.map(({ line }) => line));
        expect([answer.accepted, answer.rejected]).toEqual([filled.length - rejected.size, rejected.size]);
        for (const { text, number } of filled) {
          const alone = await send(app, { body: text, key });
          expect([text, rejected.has(number)]).toEqual([text, alone.status >= 400]);
          if (alone.ok) accepted.add((JSON.parse(text) as Event).id.toLowerCase());
        }
      }),
      { numRuns: effort(20, 60) },
    );
    expect(ids(await app.list("", key))).toEqual([...accepted].sort());
  });
});

test("large bodies of a project wait for one another; small ones and other projects don't", async () => {
  const others = await newKey();
  const dawdling = await Promise.all(
    Array.from({ length: limits.largeBodiesOfProjectBytes / limits.batchBytes }, () =>
      rawRequest(
        app.address,
        `POST /api/events HTTP/1.1\r\nhost: x\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\ncontent-length: ${limits.batchBytes}\r\n\r\n[`,
      ),
    ),
  );
  // Once these have arrived, another one waits.
  const description = "x ".repeat(4_000);
  const large = Array.from({ length: 20 }, () => ({ ...ok, description }));
  const answered: string[] = [];
  const post = async (
    name: string,
    body: string | Uint8Array<ArrayBuffer> | ReadableStream,
    more: Record<string, string> = {},
  ) => {
    const headers = { "content-type": "application/json", ...more };
    const { status } = await app.request("/api/events", { method: "POST", headers, body });
    answered.push(`${name}: ${status}`);
  };
  await Bun.sleep(100);
  const bytes = new TextEncoder().encode(JSON.stringify(large));
  const waiting = [
    post("with a length", bytes),
    post("without", new Blob([bytes]).stream()),
    post("gzipped", Bun.gzipSync(bytes), { "content-encoding": "gzip" }),
  ];
  await post("small", JSON.stringify(ok));
  await post("of another project", bytes, { "x-api-key": others });
  await post("of nobody", bytes, { "x-api-key": "tdg_sk_unknown" });
  await Bun.sleep(300);
  expect(answered).toEqual(["small: 201", "of another project: 201", "of nobody: 401"]);
  dawdling[0]![Symbol.dispose]();
  await Promise.all(waiting);
  expect(answered.slice(3).sort()).toEqual(["gzipped: 201", "with a length: 201", "without: 201"]);
  for (const each of dawdling) each[Symbol.dispose]();
});

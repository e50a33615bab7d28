import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createGzip, gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import type { LinesResponse } from "../schemas/batch.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { longTest } from "../testing/long-test.ts";
import { scenarios, send } from "../testing/scenarios.ts";
import { testProcess } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const headers = { "content-type": "application/x-ndjson" };
const gzipped = { "content-encoding": "gzip" };
const ok = JSON.stringify({ channel: "payments", name: "Payment received" });
const bad = JSON.stringify({ channel: "payments", name: 7 });

/** A body that is sent in pieces as it is read. */
function streamOf(pieces: Iterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const { value, done } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(Buffer.from(value));
    },
  });
}

describe("lines of NDJSON", () => {
  scenarios(
    () => app,
    [
      {
        name: "are accepted",
        headers,
        body: `${ok}\n${ok}\n`,
        status: 201,
        holds: { ok: true, accepted: 2, duplicates: 0, rejected: 0, rejections: [] },
      },
      {
        name: "need no line end at the end, may end as Windows does, and may be blank",
        headers,
        body: `\n${ok}\r\n \n\n${ok}`,
        status: 201,
        holds: { accepted: 2 },
      },
      {
        name: "may have other names of the type",
        headers: { "content-type": "application/ndjson; charset=utf-8" },
        body: ok,
        status: 201,
      },
      {
        name: "are rejected with their numbers",
        headers,
        body: `${ok}\n\n${bad}\n{"channel"\n${ok}\n`,
        status: 207,
        holds: {
          ok: false,
          accepted: 2,
          rejected: 2,
          rejections: [
            { line: 3, type: "/problems/body-invalid", status: 422, errors: [{ pointer: "/name" }] },
            { line: 4, type: "/problems/body-malformed", status: 400 },
          ],
        },
      },
      {
        name: "that are not UTF-8 are rejected, each for itself",
        headers,
        body: Buffer.concat([Buffer.from(`${ok}\n"`), Buffer.from([0xff]), Buffer.from(`"\n${ok}`)]),
        status: 207,
        holds: { accepted: 2, rejections: [{ line: 2, type: "/problems/body-malformed" }] },
      },
      {
        name: "longer than 1 MB are rejected, and those beside them are not",
        headers,
        body: `${ok}\n{"channel":"${"x".repeat(3 * limits.eventBytes)}\n${ok}\n`,
        status: 207,
        holds: { accepted: 2, rejections: [{ line: 2, type: "/problems/body-too-large", status: 413 }] },
      },
      {
        name: "are read gzipped",
        headers: { ...headers, ...gzipped },
        body: gzipSync(`${ok}\n${bad}\n${ok}`),
        status: 207,
        holds: { accepted: 2, rejected: 1 },
      },
      {
        name: "are stored up to where their gzip breaks",
        headers: { ...headers, ...gzipped },
        body: gzipSync(`${ok}\n`.repeat(100_000)).subarray(0, -40),
        status: 207,
        holds: { rejected: 1 },
        says: ["gzip"],
      },
      {
        name: "compressed in another way are rejected",
        headers: { ...headers, "content-encoding": "br" },
        body: ok,
        status: 415,
        says: ["gzip", "br"],
      },
      { name: "without a line are rejected", headers, body: "\n \n", status: 400, says: ["empty"] },
      { name: "without a key are rejected", headers, body: ok, key: null, status: 401 },
      {
        name: "with an Idempotency-Key are rejected, and told to have ids",
        headers: { ...headers, "idempotency-key": "k" },
        body: ok,
        status: 400,
        says: ["id"],
      },
    ],
  );

  test("of which all are rejected get 422; the first thousand are listed", async () => {
    const response = await send(app, { headers, body: `${bad}\n`.repeat(1_500) });
    expect(response.status).toBe(422);
    const { accepted, rejected, rejections } = (await response.json()) as LinesResponse;
    expect([accepted, rejected]).toEqual([0, 1_500]);
    expect(rejections.map(({ line }) => line)).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
  });

  test("can be split anywhere in transit", async () => {
    const body = Buffer.from(`{"channel":"cut","name":"💰 ä"}\n`.repeat(3));
    const response = await send(app, {
      headers,
      body: streamOf([...body].map((byte) => Uint8Array.of(byte))),
    });
    expect(await response.json()).toMatchObject({ accepted: 3, rejected: 0 });
    expect((await app.list("?channel=cut")).map(({ name }) => name)).toEqual(Array(3).fill("💰 ä"));
  });

  test("are committed as they arrive: the first are visible before the last are sent", async () => {
    using stream = await openStream(app);
    await stream.next("ready");
    const first = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(`{"channel":"slow","name":"first"}\n`.repeat(1_000)));
        await first.promise;
        controller.enqueue(Buffer.from(ok));
        controller.close();
      },
    });
    const response = send(app, { headers, body });
    expect(JSON.parse((await stream.next("event"))!.data)).toMatchObject({ name: "first" });
    first.resolve();
    expect(await (await response).json()).toMatchObject({ accepted: 1_001 });
  });
});

describe("memory doesn't grow", () => {
  longTest(
    "while 200 MB of lines arrive",
    async () => {
      await using server = await testProcess();
      const linesOfChunk = 1_000;
      const description = "x".repeat(1_000_000 / linesOfChunk - 50);
      const lines = Array.from({ length: linesOfChunk }, (_, n) =>
        JSON.stringify({ channel: "c", name: "n", userId: `u${n}`, description }),
      );
      const chunk = `${lines.join("\n")}\n`;
      const seenMb: number[] = [];
      function* pieces() {
        for (let n = 0; n < 200; n++) {
          seenMb.push(server.memoryMb());
          yield chunk;
        }
      }
      const response = await server.request("/api/events", {
        method: "POST",
        headers,
        body: streamOf(pieces()),
      });
      expect(await response.json()).toMatchObject({ ok: true, accepted: 200 * linesOfChunk, rejected: 0 });
      expect(response.status).toBe(201);
      // The first half fills the database's caches. After another 100 MB of lines, memory must not have grown.
      expect(Math.max(...seenMb.slice(100)) - Math.max(...seenMb.slice(0, 100))).toBeLessThan(80);
    },
    600_000,
  );

  test("while a gzipped body decompresses without end", async () => {
    await using server = await testProcess();
    await server.post({ channel: "c", name: "n" });
    const bomb = await bombOf(effort(1, 10) * 1_024);
    for (const type of ["application/json", "application/x-ndjson"]) {
      const before = server.memoryMb();
      const peak = await server.peakMb(async () => {
        const response = await server.request("/api/events", {
          method: "POST",
          headers: { "content-type": type, ...gzipped },
          body: bomb,
        });
        expect(response.status).toBe(type === "application/json" ? 413 : 422);
        expect(await response.text()).toContain("/problems/body-too-large");
      });
      // It is 90 MB if only the line's beginning is kept, and several times that if all of it is.
      expect(peak - before).toBeLessThan(150);
    }
  }, 600_000);
});

/** This many megabytes of a line that never ends, gzipped. */
async function bombOf(megabytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip({ level: 1 });
  const chunks: Buffer[] = [];
  gzip.on("data", (chunk) => chunks.push(chunk));
  gzip.write("[");
  const piece = Buffer.alloc(1_048_576, "x");
  for (let n = 0; n < megabytes; n++) {
    if (!gzip.write(piece)) await new Promise((resolve) => gzip.once("drain", resolve));
  }
  gzip.end();
  await new Promise((resolve) => gzip.once("end", resolve));
  return new Uint8Array(Buffer.concat(chunks));
}

/** The cost of hostile bodies: others are served in the meantime, and memory doesn't grow. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import type { LinesResponse } from "../schemas/batch.ts";
import type { Channel } from "../schemas/channel.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { testProcess } from "../testing/server-process.ts";
import { testApp } from "../testing/test-app.ts";

let app: Awaited<ReturnType<typeof testProcess>>;
beforeAll(async () => {
  app = await testProcess();
});
afterAll(() => app[Symbol.asyncDispose]());

const lines = { "content-type": "application/x-ndjson" };
const json = { "content-type": "application/json" };
const gzipped = { "content-encoding": "gzip" };
const ok = '{"channel":"c","name":"n"}';
const megabyte = 1_048_576;

const packed = (text: string) => new Uint8Array(gzipSync(text));
const send = (headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) =>
  app.request("/api/events", { method: "POST", headers, body });

describe("while an expensive body is processed, others are served", () => {
  const bodies: [name: string, headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>][] = [
    ["line ends, gzipped", { ...lines, ...gzipped }, packed("\n".repeat(64 * megabyte))],
    ["rejected lines, gzipped", { ...lines, ...gzipped }, packed("{}\n".repeat(megabyte))],
    ["brackets, gzipped", { ...json, ...gzipped }, packed("[".repeat(16 * megabyte))],
    ["items, gzipped", { ...json, ...gzipped }, packed(`[${"{},".repeat(5 * megabyte)}0]`)],
    ["line ends", lines, "\n".repeat(8 * megabyte)],
    ["brackets", json, "[".repeat(16 * megabyte)],
    ["items", json, `[${"{},".repeat(5 * megabyte)}0]`],
    ["members", json, `{${'"a":0,'.repeat(150_000)}"b":0}`],
    ["levels in a tag", json, `{"channel":"c","name":"n","tags":{"a":${"[".repeat(megabyte / 2)}`],
    ["levels in an item", json, `[${ok},${"[".repeat(megabyte)}${"]".repeat(megabyte)}]`],
    ["emoji", json, `{"channel":"c","name":"${"💰".repeat(250_000)}"}`],
  ];
  for (const [name, headers, body] of bodies) {
    test(name, async () => {
      /** Longest computation of the server while another request waits. */
      let slowestMs = 0;
      let isOver = false;
      const asking = (async () => {
        while (!isOver) {
          const startMs = app.processorMs();
          await (await app.request("/healthz")).bytes();
          slowestMs = Math.max(slowestMs, app.processorMs() - startMs);
        }
      })();
      const before = app.memoryMb();
      const peak = await app.peakMb(async () => {
        const response = await send(headers, body);
        await response.bytes();
        expect(response.status).toBeGreaterThanOrEqual(207);
      });
      isOver = true;
      await asking;
      expect(slowestMs).toBeLessThan(400);
      expect(peak - before).toBeLessThan(150);
    });
  }
});

test("a body that decompresses to a hundred times its size is rejected; small or less compressed ones are not", async () => {
  const name = (n: number) => `{"channel":"packed","name":"n${Math.imul(n, 0x9e3779b1) >>> 0}"}`;
  const events = Array.from({ length: 10_000 }, (_, n) => name(n));
  for (const [headers, body] of [
    [json, `[${events.join(",")}]`],
    [json, `[${Array(10_000).fill(ok).join(",")}]`],
    [lines, events.join("\n")],
    [lines, `${ok}\n`.repeat(30_000)],
  ] as const) {
    const response = await send({ ...headers, ...gzipped }, packed(body));
    expect([response.status, await response.json()]).toMatchObject([201, { ok: true }]);
  }
  const array = await send({ ...json, ...gzipped }, packed(`[${"\n".repeat(2 * megabyte)}${ok}]`));
  expect([array.status, await array.json()]).toMatchObject([
    413,
    { type: "/problems/body-too-large", detail: expect.stringContaining("100 times") },
  ]);
  const many = await send(
    { ...lines, ...gzipped },
    packed(`${`${ok}\n`.repeat(30_000)}${"\n".repeat(4 * megabyte)}`),
  );
  expect([many.status, await many.json()]).toMatchObject([
    207,
    {
      rejected: 1,
      rejections: [{ type: "/problems/body-too-large", detail: expect.stringContaining("100 times") }],
    },
  ]);
});

describe("a body with too many rejected lines", () => {
  test("is not read further, and the response says where", async () => {
    const count = 3 * limits.rejectedLines;
    const response = await send(lines, `${ok}\n`.repeat(100) + "{}\n".repeat(count));
    expect(response.status).toBe(207);
    const { accepted, rejected, rejections } = (await response.json()) as LinesResponse;
    expect(accepted).toBe(100);
    expect(rejected).toBeGreaterThan(limits.rejectedLines);
    expect(rejected).toBeLessThan(2 * limits.rejectedLines);
    expect(rejections).toHaveLength(limits.listedRejections + 1);
    const { line, type, detail } = rejections.at(-1)!;
    expect([type, line]).toEqual(["/problems/lines-rejected", 100 + rejected]);
    expect(detail).toContain(`before line ${line}.`);
  });

  test("is read in full if as many are accepted", async () => {
    const pairs = limits.rejectedLines + 5_000;
    const response = await send(lines, `{}\n${ok}\n`.repeat(pairs));
    expect(await response.json()).toMatchObject({ accepted: pairs, rejected: pairs });
  });

  test("keeps the lines that are listed", async () => {
    await using own = await testApp({ rejectedEvents: 5_000 });
    const body = Array.from({ length: 1_500 }, (_, n) => `{"name":"${n}"}\n`).join("");
    await own.request("/api/events", { method: "POST", headers: lines, body });
    const response = await own.request("/api/events/rejected?limit=1");
    const { rejected } = (await response.json()) as { rejected: { body: string }[] };
    expect(rejected[0]!.body).toBe(`{"name":"${limits.listedRejections - 1}"}`);
  });
});

test("lines of a disconnected client are no longer recorded", async () => {
  const count = 200_000;
  const all = Array.from({ length: count }, (_, n) => `{"channel":"gone","name":"n","userId":"${n}"}`);
  const body = packed(all.join("\n"));
  const head = [
    "POST /api/events HTTP/1.1",
    "host: a",
    `x-api-key: ${app.key}`,
    "content-type: application/x-ndjson",
    "content-encoding: gzip",
    `content-length: ${body.length}`,
  ];
  const request = await rawRequest(app.address, `${head.join("\r\n")}\r\n\r\n`, body);
  const recorded = async () => {
    const { channels } = (await (await app.request("/api/channels")).json()) as { channels: Channel[] };
    return channels.find(({ name }) => name === "gone")?.events ?? 0;
  };
  while ((await recorded()) === 0) await Bun.sleep(5);
  request[Symbol.dispose]();
  let last = -1;
  for (let now = await recorded(); now !== last; now = await recorded()) {
    last = now;
    await Bun.sleep(100);
  }
  expect(last).toBeLessThan(count);
});

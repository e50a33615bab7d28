// @long
import { expect, test } from "bun:test";
import { rawRequest } from "../testing/raw-request.ts";
import { testProcess } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";

const seconds = 30;
const openStreams = 530;
const filteredStreams = 450;
const slowStreams = 20;
/**
 * Small events for nearly all streams each second, and large ones for the slow streams, more than their buffers hold.
 */
const smallEvents = 40;
const largeEvents = 300;
const shards = 10;
const long = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`key ${n}`, "v".repeat(1_000)]));

/** The end of a complete body. A slow client's connection ends without it. */
const lastChunk = "\r\n0\r\n\r\n";

type App = Awaited<ReturnType<typeof testProcess>>;
type Stream = Awaited<ReturnType<typeof rawRequest>>;

function openStream(app: App, query: string, lastId = ""): Promise<Stream> {
  const resume = lastId && `last-event-id: ${lastId}\r\n`;
  return rawRequest(
    app.address,
    `GET /api/events/stream${query} HTTP/1.1\r\nhost: a\r\nx-api-key: ${app.key}\r\n${resume}\r\n`,
  );
}

/** The stream's messages, without the transfer encoding's chunks. The last may be incomplete. */
function messages(stream: Stream): string {
  return stream.text.replace(/\r\n[0-9a-f]+\r\n/g, "");
}

function received(stream: Stream): string[] {
  return [...messages(stream).matchAll(/"userId":"([^"]+)".*\n\n/g)].map(([, userId]) => userId!);
}

/** Calls `work` this many times, spread evenly over the test. */
async function steadily(times: number, work: (n: number) => Promise<void>): Promise<void> {
  const startMs = performance.now();
  const working: Promise<void>[] = [];
  for (let n = 0; n < times; n++) {
    working.push(work(n));
    await Bun.sleep(startMs + ((n + 1) * seconds * 1_000) / times - performance.now());
  }
  await Promise.all(working);
}

test(
  `a thousand streams get every event once for ${seconds} s, and slow ones are dropped and resume`,
  async () => {
    await using app = await testProcess();
    await app.post({ channel: "first", name: "first" });
    const startMb = await app.heldMb();
    const open: Stream[] = [];
    const filtered: { stream: Stream; shard: number }[] = [];
    const slow: Stream[] = [];
    for (let n = 0; n < openStreams; n++) open.push(await openStream(app, "?channel=small"));
    for (let n = 0; n < filteredStreams; n++) {
      const shard = n % shards;
      filtered.push({
        shard,
        stream: await openStream(app, `?channel=small&tag.shard=${shard}&from=${1_700_000_000_000 + n}`),
      });
    }
    for (let n = 0; n < slowStreams; n++) slow.push(await openStream(app, "?channel=large"));
    const all = [...open, ...filtered.map(({ stream }) => stream), ...slow];
    await until(() => all.every(({ text }) => text.includes("event: ready")));
    for (const stream of slow) stream.pause();

    const small: string[] = [];
    const large: string[] = [];
    async function post(event: {
      channel: string;
      userId: string;
      [member: string]: unknown;
    }): Promise<void> {
      const response = await app.post({ name: "n", ...event });
      expect(response.status).toBe(201);
      await response.bytes();
      (event.channel === "small" ? small : large).push(event.userId);
    }
    await Promise.all([
      steadily(smallEvents * seconds, (n) =>
        post({ channel: "small", userId: `${n}`, tags: { shard: `${n % shards}`, text: "t".repeat(100) } }),
      ),
      steadily(largeEvents, async (n) => {
        await post({ channel: "large", userId: `${n}`, tags: long });
      }),
    ]);
    for (let shard = 0; shard < shards; shard++) {
      await post({ channel: "small", userId: `end ${shard}`, tags: { shard: `${shard}` } });
    }
    const has = ({ text }: Stream, userId: string) => text.slice(-5_000).includes(`"userId":"${userId}"`);
    await until(() => open.every((stream) => has(stream, `end ${shards - 1}`)));
    await until(() => filtered.every(({ stream, shard }) => has(stream, `end ${shard}`)));
    const expected = small.toSorted();
    for (const stream of open) expect(received(stream).toSorted()).toEqual(expected);
    for (const { stream, shard } of filtered) {
      const ofShard = expected.filter((userId) => Number(userId.replace("end ", "")) % shards === shard);
      expect(received(stream).toSorted()).toEqual(ofShard);
    }

    // Slow clients find their connection closed once they read on, and resume after the last event they got.
    await post({ channel: "large", userId: "end" });
    let dropped = 0;
    for (const first of slow) {
      first.resume();
      const seen: string[] = [];
      let lastId = "";
      for (let stream = first; seen.length < large.length; ) {
        await until(() => has(stream, "end") || stream.isClosed || stream.text.endsWith(lastChunk));
        seen.push(...received(stream));
        lastId = [...messages(stream).matchAll(/\nid: (\S+)\ndata: .*\n\n/g)].at(-1)?.[1] ?? lastId;
        stream[Symbol.dispose]();
        if (seen.at(-1) === "end") break;
        dropped++;
        stream = await openStream(app, "?channel=large", lastId);
      }
      expect(seen.toSorted()).toEqual(large.toSorted());
    }
    expect(dropped).toBeGreaterThanOrEqual(slowStreams);
    for (const stream of all) stream[Symbol.dispose]();
    await app.heldDownTo(startMb + 90);
  },
  60_000 + seconds * 3_000,
);

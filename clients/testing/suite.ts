import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostileProxy, hostileProxy, type Mishap } from "../../client/src/testing/hostile-proxy.ts";
import type { Group } from "../../server/schemas/group.ts";
import { effort, patienceMs } from "../../server/testing/engine.ts";
import { longTest } from "../../server/testing/long-test.ts";
import { testProcess } from "../../server/testing/server-process.ts";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { until } from "../../server/testing/until.ts";
import { type Driver, runDriver, startDriver } from "./programs.ts";

const everyMishap: Mishap[] = [
  "drop-request",
  "500",
  "429",
  "413",
  "drop-response",
  "half-response",
  "500-after",
  "hang",
  "slow",
];
/** Bodies with the status of a batch that are none of Tidings. */
const senseless = [
  '{"results":[null]}',
  '{"results":[1]}',
  '{"results":{"0":1}}',
  '{"results":7}',
  '{"results":[{"ok":false,"status":null}]}',
  "[null]",
  "null",
  "1",
];
/** What a network and a proxy do to requests on a bad day. */
const badDay: (Mishap | null)[] = [
  ...Array<null>(9).fill(null),
  "drop-request",
  "429",
  "drop-response",
  "500-after",
  "half-response",
];

/** The longest delay of 99.9 % of events. */
const delayMaxMs = 1;
/** Where even the same work without a queue takes longer, it may take this many times as long. */
const delayRatioMax = 4;
const windowEvents = 2_000;
const windows = effort(10, 40);

/** What clients of a single file have not: they only send. PHP has no threads, and a program ends with its queue. */
type Abilities = { isSenderOnly?: boolean; canClose?: boolean };

/**
 * The promises of a client with a queue, against a real server. Its driver (`tests/driver.*`) has a scenario for each.
 *
 * @param driver - null if the language is not installed
 */
export function clientSuite(
  language: string,
  driver: Driver | null,
  { isSenderOnly = false, canClose = true }: Abilities = {},
): void {
  describe.skipIf(driver === null)(language, () => {
    let app: TestApp;
    let proxy: HostileProxy;
    let directory: string;
    const run = (scenario: string, settings: Parameters<typeof runDriver>[2]) =>
      runDriver(driver!, scenario, settings);
    const names = async (channel: string) =>
      (await app.list(`?channel=${channel}`)).map(({ name }) => name).sort();

    beforeAll(async () => {
      app = await testApp();
    });
    beforeEach(async () => {
      proxy = await hostileProxy(() => app.address);
      directory = mkdtempSync(join(tmpdir(), "tidings-client-"));
    });
    afterEach(async () => {
      await proxy[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    });
    afterAll(() => app[Symbol.asyncDispose]());
    const settings = (channel: string, count: number) => ({ url: proxy.url, key: app.key, channel, count });

    test("each event is stored once or reported, whatever happens to requests", async () => {
      proxy.mishaps.push(...everyMishap.flatMap((mishap) => [null, mishap]));
      const dropped = await run("hostile", { ...settings("hostile", 1_000), flushEvery: 50 });
      expect(proxy.mishaps).toEqual([]);
      expect(dropped).toEqual([
        ["no channel", "rejected"],
        ["no tag", "invalid"],
        ...(canClose ? [["too late", "closed"]] : []),
      ]);
      expect(await names("hostile")).toEqual(namesUpTo(1_000));
    });

    test("events are sent or reported after responses that make no sense", async () => {
      const left = [...senseless];
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        async fetch(request) {
          const body = left.shift();
          if (body !== undefined) return new Response(body, { status: 207 });
          const { pathname } = new URL(request.url);
          return fetch(`${app.address}${pathname}`, {
            method: request.method,
            headers: request.headers,
            body: await request.arrayBuffer(),
          });
        },
      });
      const given = { ...settings("senseless", 20), url: server.url.origin, flushEvery: 1 };
      const dropped = (await run("hostile", given)) as [string, string][];
      server.stop(true);
      expect(left).toEqual([]);
      const reported = dropped.flatMap(([name]) => (/^n \d/.test(name) ? [name] : []));
      expect([...(await names("senseless")), ...reported].toSorted()).toEqual(namesUpTo(20));
    });

    test("a program that ends sends what it tracked", async () => {
      proxy.mishaps.push("drop-response");
      await run("ending", { ...settings("ending", 5), close: 10 });
      expect(await names("ending")).toEqual(namesUpTo(5));
    });

    test("a program that ends without a server reports what it could not send", async () => {
      const unreachable = {
        ...settings("unreachable", 2),
        url: "http://127.0.0.1:1",
        close: 0.5,
        report: true,
      };
      expect(await run("ending", unreachable)).toEqual([
        ["n 0", "undeliverable"],
        ["n 1", "undeliverable"],
      ]);
    });

    test("events beyond the queue's limit are reported", async () => {
      const few = { ...settings("full", 12), url: "http://127.0.0.1:1", queueMax: 10, close: 0.1 };
      const dropped = (await run("queue-full", few)) as [string, string][];
      expect(dropped.filter(([, reason]) => reason !== "undeliverable")).toEqual([
        ["n 10", "queue-full"],
        ["n 11", "queue-full"],
      ]);
    });

    longTest("events survive a server that is killed again and again", () =>
      survivesKills(driver!, 10, 100_000),
    );
    test("events survive a server that is killed", () => survivesKills(driver!, 1, 1_000));
    if (isSenderOnly) return;

    test("events of a program that is killed, or ends without a server, are sent by the next one", async () => {
      const offline = { ...settings("offline", 300), url: "http://127.0.0.1:1", directory };
      await run("ending", { ...offline, kill: true });
      expect(await run("ending", { ...offline, close: 0.1, report: true })).toEqual([]);
      const [file, ...others] = readdirSync(directory);
      expect(others).toEqual([]);
      expect(statSync(join(directory, file!)).mode & 0o777).toBe(0o600);
      await run("ending", { ...settings("offline", 1), directory, close: 10 });
      expect((await names("offline")).toSorted()).toEqual(
        [...namesUpTo(300), ...namesUpTo(300), "n 0"].toSorted(),
      );
      expect(readdirSync(directory)).toEqual([]);
    });

    test("reads pages, sets properties of users, and saves groups", async () => {
      await app.request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(namesUpTo(1_200).map((name) => ({ channel: "pages", name }))),
      });
      expect(await run("read", settings("pages", 0))).toEqual({
        names: namesUpTo(1_200),
        page: 2,
        hasMore: true,
      });
      const propertiesOf = async (userId: string) =>
        ((await (await app.request(`/api/users/${userId}`)).json()) as { user: { properties: object } }).user
          .properties;
      expect(await propertiesOf("u1")).toEqual({ plan: "pro", seats: 5 });
      expect(await propertiesOf("~..")).toEqual({ plan: "dots" });
      const { group } = (await (await app.request("/api/groups/company/acme")).json()) as { group: Group };
      expect(group).toMatchObject({ properties: { plan: "team", seats: 5 }, people: 1 });
    });

    test("a live stream goes on where its connection broke", async () => {
      const child = startDriver(driver!, "live", settings("live", 0));
      let output = "";
      const reading = (async () => {
        for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) output += text;
      })();
      const post = (name: string) => app.post({ channel: "live", name });
      await until(() => output.includes("connecting"));
      await until(async () => {
        await post("warm-up");
        return output.includes("warm-up");
      });
      for (let part = 0; part < 3; part++) {
        await post(`before ${part}`);
        await until(() => output.includes(`before ${part}`));
        proxy.breakStreams();
        await post(`while away ${part}`);
      }
      await post("end");
      await child.exited;
      await reading;
      const lines = output.trim().split("\n").slice(1);
      const seen = lines.map((line) => (JSON.parse(line) as [string, string])[0]);
      const parts = [0, 1, 2].flatMap((part) => [`before ${part}`, `while away ${part}`]);
      expect(seen.filter((name) => name !== "warm-up")).toEqual([...parts, "end"]);
    });

    for (const mishap of ["hang", null] as const)
      longTest(
        `tracking doesn't delay the program, while the server ${mishap ? "hangs" : "works"}`,
        async () => {
          if (mishap) proxy.mishaps.push(...Array<Mishap>(100).fill(mishap));
          const found = await run("delay", {
            ...settings("delay", windows * windowEvents),
            window: windowEvents,
          });
          // A machine that others use interrupts a program at any time, so the quietest window counts. What delays one event
          // in a thousand is in each of them.
          const quietest = (found as [number, number][]).toSorted(([a], [b]) => a - b)[0]!;
          const [trackedMs, controlMs] = quietest;
          expect(trackedMs).toBeLessThanOrEqual(Math.max(delayMaxMs, delayRatioMax * controlMs));
        },
      );
  });
}

/** Tracks events while the network fails and the server is killed, and compares what is stored. */
async function survivesKills(driver: Driver, kills: number, count: number): Promise<void> {
  await using server = await testProcess();
  await using proxy = await hostileProxy(() => server.address);
  const random = sequence(kills);
  proxy.mishaps.push(...Array.from({ length: count }, () => badDay[random() % badDay.length]!));
  const passed = () => proxy.batches.reduce((sum, size) => sum + size, 0);
  const child = startDriver(driver, "hostile", {
    url: proxy.url,
    key: server.key,
    channel: "killed",
    count,
    pauseMs: 15,
  });
  const output = new Response(child.stdout).text();
  let done = 0;
  for (; done < kills; done++) {
    const share = ((done + 1) / (kills + 1)) * count;
    await until(() => passed() >= share, patienceMs * 10);
    await server.end("SIGKILL");
    await server.start();
  }
  expect(await child.exited).toBe(0);
  // Only what can't be sent.
  expect(JSON.parse(await output)).toEqual(
    expect.not.arrayContaining([[expect.stringMatching(/^n \d/), expect.any(String)]]),
  );
  const response = await server.request("/api/events?channel=killed");
  const { events } = (await response.json()) as { events: { name: string }[] };
  expect(events.map(({ name }) => name).sort()).toEqual(namesUpTo(count));
}

/** The names of events up to a number, sorted. */
export function namesUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `n ${number}`).sort();
}

/** Pseudo-random numbers, the same in each run. */
function sequence(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
}

// @engines clickhouse
/**
 * Tidings, ClickHouse and PostgreSQL are killed at each step of shipping, while another node records, removes, lists,
 * counts and streams.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Event } from "../../event/event.ts";
import type { OpenStore } from "../../process/open-store.ts";
import { type ClickHouseApp, clickHouseApp } from "../../testing/clickhouse-app.ts";
import { effort } from "../../testing/engine.ts";
import { type Message, openStream } from "../../testing/event-stream.ts";
import { createdAtOf, idOf, leaseOptions } from "../../testing/shipping-child.ts";
import { type Step, shippingDrill, stepsOf, type Victim } from "../../testing/shipping-drill.ts";
import { until } from "../../testing/until.ts";
import { openPostgresStore } from "../postgres/index.ts";
import { openClickHouse } from "./index.ts";

/** Kills of each run: 200 in all, with `--long`. */
const kills = effort(9, 25);
const victims: readonly Victim[] = ["tidings", "clickhouse", "postgres"];
const runs = effort([1], [1, 2]);
/** Events that are sent again after each kill: among them some that were shipped and cleared. */
const repeated = 100;
/** What may be answered while a database is away: of reads, and of events that are recorded. */
const refusedReads = /\/problems\/(older-events|storage)-unavailable/;
const refusedEvents = /\/problems\/storage-unavailable/;
const hourMs = 3_600_000;
const windowEvents = 100;
/** Events that are recorded between two kills, at least. */
const recordedBetween = 100;
/** How far back a stream resumes, and how many events it reads. */
const resumedBack = 300;
const resumedEvents = 100;

const runsOfAll = runs.flatMap((run) => [
  ...victims.map((victim) => ({ victim, servers: 1, run })),
  { victim: "clickhouse" as const, servers: 2, run },
]);
for (const { victim, servers, run } of runsOfAll) {
  test(
    `${kills} kills of ${victim}, of ${servers}, lose, double and hide no event (${run})`,
    async () => {
      const drill = await shippingDrill(servers);
      const { databaseUrl, clickhouseUrl } = drill;
      const dataDirectory = mkdtempSync(join(tmpdir(), "tidings-kills-"));
      // The node that isn't killed.
      const app = await clickHouseApp({ dataDirectory, databaseUrl, clickhouseUrl }, {}, undefined, openNode);
      const { id } = await app.store.control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
      const watch = watchEvents(app, () => drill.acknowledged);
      drill.begin(id);
      const steps = stepsOf(victim);
      const missed: Step[] = [];
      const { status } = app.store.older!;
      for (let kill = 0; kill < kills; kill++) {
        const known = drill.acknowledged;
        await until(() => drill.acknowledged >= known + recordedBetween);
        const step = steps[kill % steps.length]!;
        if (!(await drill.kill(victim, step, repeated))) missed.push(step);
        await watch.removeOne();
        // What only one server has can't be read without it.
        await until(async () =>
          (await status()).servers.every(({ isCurrent, failure }) => isCurrent && !failure),
        );
      }
      await drill.stop();
      const checked = await watch.end();
      // Events that aren't sent again need neither ClickHouse nor the other node.
      if (victim !== "postgres") expect(checked.refused).toBe(0);
      console.log(
        `${kills} kills of ${victim}, of ${servers}: ${JSON.stringify(checked)}; not at: ${missed.join(", ") || "none"}`,
      );
      // A busy machine may not come to a step in time.
      expect(missed.length).toBeLessThan(kills / 5);
      await app[Symbol.asyncDispose]();
      await drill.remove();
      rmSync(dataDirectory, { recursive: true });
    },
    kills * 40_000,
  );
}

const openNode: OpenStore = ({ databaseUrl, databaseConnections, clickhouseUrl }, watch, migrations) =>
  openPostgresStore(
    { url: databaseUrl!, connections: databaseConnections },
    watch,
    undefined,
    migrations,
    openClickHouse(clickhouseUrl!, leaseOptions),
  );

/**
 * Records, reads and removes on one node until `end`, which then compares all events. Whatever is answered must be whole:
 * an answer may say that events can't be read, but never leave out one that was acknowledged.
 */
function watchEvents(app: ClickHouseApp, acknowledged: () => number) {
  const done = {
    windows: 0,
    listings: 0,
    found: 0,
    counts: 0,
    resumed: 0,
    unavailable: 0,
    refused: 0,
    own: 0,
    removed: 0,
  };
  const own: string[] = [];
  const removing = new Set<string>();
  const removed = new Set<string>();
  const streamed: Message[] = [];
  const streamedIds = new Set<string>();
  let isOver = false;
  let stream: Awaited<ReturnType<typeof openStream>>;
  const failures: string[] = [];

  /** Whoever can't read older events must not have had a server that has all of them and answers. */
  async function noteUnavailable(what: string): Promise<void> {
    done.unavailable++;
    const known = await app.store.older!.status().catch(() => null);
    const servers = known?.servers ?? [];
    if (servers.length > 1 && servers.some(({ isCurrent, failure }) => isCurrent && failure === null))
      failures.push(`${what}: unavailable, with a server there`);
  }

  /** An answer's body; null if it says that events can't be read. */
  async function get<Body>(path: string): Promise<Body | null> {
    const response = await app.request(path);
    const text = await response.text().catch(() => "");
    if (response.status === 200 && text.endsWith("}")) return JSON.parse(text) as Body;
    // A listing that has begun is cut off.
    if (response.status !== 200) expect(text).toMatch(refusedReads);
    await noteUnavailable(path);
    return null;
  }

  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

  /** Expects each of the events once, without those that are removed. */
  function expectWhole(
    what: string,
    events: readonly Event[],
    expected: readonly string[],
    gone: Set<string>,
  ): void {
    const ids = new Set(events.map(({ id }) => id));
    const missing = expected.filter((id) => !ids.has(id) && !removing.has(id));
    const back = [...gone].filter((id) => ids.has(id));
    if (ids.size < events.length) failures.push(`${what}: ${events.length - ids.size} twice`);
    if (missing.length > 0) failures.push(`${what}: ${missing.length} missing, such as ${missing[0]}`);
    if (back.length > 0) failures.push(`${what}: removed, but there: ${back[0]}`);
  }

  const window = (fromMs: number, ms: number) =>
    `from=${new Date(fromMs).toISOString()}&to=${new Date(fromMs + ms).toISOString()}`;

  const checks = {
    async window() {
      const from = Math.floor(Math.random() * Math.max(1, acknowledged() - windowEvents));
      const known = numbers(from, Math.min(acknowledged(), from + windowEvents)).filter((n) => n % 3 !== 0);
      const gone = new Set(removed);
      const range = window(createdAtOf(1) - 1 + from, windowEvents);
      const page = await get<{ events: Event[] }>(`/api/events?limit=1000&${range}`);
      if (!page) return;
      done.windows++;
      expectWhole(`window from ${from}`, page.events, known.map(idOf), gone);
    },
    async day() {
      const day = 3 * (1 + Math.floor(Math.random() * 33));
      const known = numbers(0, acknowledged()).filter((n) => n % 3 === 0 && n % 100 === day);
      const gone = new Set(removed);
      const page = await get<{ events: Event[] }>(
        `/api/events?limit=1000&${window(createdAtOf(1) - 1 - day * 24 * hourMs, 24 * hourMs)}`,
      );
      if (!page) return;
      done.windows++;
      expectWhole(`day ${day}`, page.events, known.map(idOf), gone);
    },
    async listing() {
      const known = [...numbers(0, acknowledged()).map(idOf), ...own];
      const gone = new Set(removed);
      const all = await get<{ events: Event[] }>("/api/events");
      if (!all) return;
      done.listings++;
      expectWhole("listing", all.events, known, gone);
    },
    async newest() {
      const known = own.slice(-50);
      const gone = new Set(removed);
      const page = await get<{ events: Event[] }>("/api/events?limit=200");
      if (!page) return;
      done.windows++;
      expectWhole("newest page", page.events, known, gone);
    },
    async one() {
      if (acknowledged() === 0) return;
      const id = idOf(Math.floor(Math.random() * acknowledged()));
      if (removing.has(id)) return;
      const response = await app.request(`/api/events/${id}`);
      const text = await response.text();
      if (response.status === 200) done.found++;
      else if (refusedReads.test(text)) await noteUnavailable("one event");
      else if (!removing.has(id)) failures.push(`one event: ${id} ${text}`);
    },
    async count() {
      const from = Math.floor(Math.random() * Math.max(1, acknowledged() - windowEvents));
      if (from === 0) return;
      const known = numbers(from, from + windowEvents).filter((n) => n % 3 !== 0);
      const most = known.filter((n) => !removed.has(idOf(n))).length;
      const counted = await get<{ count: number }>(
        `/api/events/count?q=user:u&${window(createdAtOf(1) - 1 + from, windowEvents)}`,
      );
      if (!counted) return;
      done.counts++;
      // A removal can begin and end while events are counted.
      const least = known.filter((n) => !removing.has(idOf(n))).length;
      // Of the events that are not known here, one can be in the window.
      if (counted.count > most + 1 || counted.count < least)
        failures.push(`count from ${from}: ${counted.count} instead of ${least} to ${most}`);
    },
    async resume() {
      const at = streamed.length - resumedBack;
      if (at < 0) return;
      using resumed = await openStream(app, "", { "last-event-id": streamed[at]!.id! }).catch(() => null!);
      if (!resumed) return;
      const expected = streamed.slice(at + 1, at + 1 + resumedEvents);
      const messages: Message[] = [];
      while (messages.length < resumedEvents) {
        const message = await resumed.next();
        // ClickHouse is away: the client reads the listing again.
        if (message === null || message.type === "reset") {
          await noteUnavailable("resumed stream");
          return;
        }
        if (message.type === "event") messages.push(message);
      }
      done.resumed++;
      const kept = expected.filter(({ id }) => messages.some((each) => each.id === id));
      const isOrdered = messages.slice(0, kept.length).every(({ id }, n) => id === kept[n]!.id);
      const lacking = expected
        .filter((each) => !kept.includes(each))
        .map(({ data }) => (JSON.parse(data) as Event).id);
      if (!isOrdered || lacking.some((id) => !removing.has(id)))
        failures.push(`resumed stream: ${lacking.length} missing, in order: ${isOrdered}`);
    },
  };

  async function follow(): Promise<void> {
    stream = await openStream(app);
    for (let message = await stream.next("event"); message; message = await stream.next("event")) {
      const { id } = JSON.parse(message.data) as Event;
      if (streamedIds.has(id)) failures.push(`stream: ${id} twice`);
      streamedIds.add(id);
      streamed.push(message);
    }
  }

  async function record(): Promise<void> {
    while (!isOver) {
      const response = await app.post({ channel: "d", name: "n", userId: "w" });
      const text = await response.text();
      if (response.status === 201) {
        own.push((JSON.parse(text) as { event: Event }).event.id);
        done.own++;
      } else {
        expect(text).toMatch(refusedEvents);
        done.refused++;
      }
      await Bun.sleep(40);
    }
  }

  async function read(check: () => Promise<void>, everyMs: number): Promise<void> {
    while (!isOver) {
      await check();
      await Bun.sleep(everyMs);
    }
  }

  const running = [
    record(),
    ...Object.entries(checks).map(([name, check]) => read(check, name === "listing" ? 1_500 : 150)),
  ];
  const following = follow();

  return {
    /** Removes an event that isn't sent again, as soon as ClickHouse is there. */
    async removeOne(): Promise<void> {
      const removable = acknowledged() - 3 * repeated;
      const id = idOf(Math.floor(Math.random() * Math.max(0, removable)));
      if (removable <= 0 || removing.has(id)) return;
      removing.add(id);
      for (;;) {
        const { status } = await app.request(`/api/events/${id}`, { method: "DELETE" });
        if (status === 200 || status === 404) break;
        expect(status).toBe(503);
        await noteUnavailable("removal");
        await Bun.sleep(10);
      }
      removed.add(id);
      done.removed++;
    },
    async end() {
      isOver = true;
      await Promise.all(running);
      const known = [...numbers(0, acknowledged()).map(idOf), ...own];
      const isStreamed = () => known.every((id) => streamedIds.has(id));
      await until(isStreamed);
      stream.close();
      await following;
      const all = async () => (await get<{ events: Event[] }>("/api/events"))?.events ?? null;
      await until(async () => (await all()) !== null);
      expectWhole("in the end", (await all())!, known, removed);
      await app.store.events.indexBlocks(async () => {}, Date.now() + 2 * hourMs);
      const events = (await all())!;
      expectWhole("all shipped", events, known, removed);
      const counted = (await get<{ count: number }>("/api/events/count?q=user:u"))!;
      expect(counted.count).toBe(events.filter(({ userId }) => userId === "u").length);
      expect(failures).toEqual([]);
      expect(
        Math.min(done.windows, done.listings, done.found, done.counts, done.resumed),
        JSON.stringify(done),
      ).toBeGreaterThan(0);
      return { acknowledged: acknowledged(), ...done };
    },
  };
}

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { databaseFile } from "../storage/sqlite/open.ts";
import { testProcess } from "../testing/server-process.ts";
import type { Channel } from "../wire/channel.ts";
import type { Event } from "../wire/event.ts";

const kills = 10;
const clients = 32;
const channels = ["payments", "logins", "errors"];

test("an acknowledged event survives kill -9, exactly once, ten times under load", async () => {
  await using app = await testProcess();
  /** The clients' own log: what they were told is stored. */
  const acknowledged = new Map<string, string>();
  let repeated = 0;
  let generation = 0;
  let isOver = false;

  /** Those without an id that got no answer: they may be stored or not. */
  const unknown = new Set<string>();

  async function client(number: number): Promise<void> {
    const makesIds = number % 4 !== 0;
    for (let n = 0; !isOver; n++) {
      const event = {
        ...(makesIds && { id: Bun.randomUUIDv7() }),
        channel: channels[n % channels.length],
        name: `${number} ${n}`,
        ...(n % 5 === 0 && { createdAt: 1_767_225_600_000 + (n % 7) }),
      };
      // Until there is an answer, it is sent again: the server may have stored it and died before it said so.
      for (let isDone = false; !isDone; ) {
        const attempt = generation;
        const response = await app.post(event).catch(() => null);
        // An answer other than these would be a failure that no crash explains.
        if (response && response.status !== 201 && response.status !== 200) {
          throw new Error(`${response.status}: ${await response.text()}`);
        }
        const answer = (await response?.json().catch(() => null)) as { event: Event } | null | undefined;
        if (answer) {
          acknowledged.set(answer.event.id, event.name);
          if (response!.status === 200) repeated++;
        } else {
          if (!makesIds) unknown.add(event.name);
          while (attempt === generation) await Bun.sleep(5);
        }
        isDone = Boolean(answer) || !makesIds;
      }
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  for (let n = 0; n < kills; n++) {
    await Bun.sleep(150 + Math.random() * 250);
    await app.end("SIGKILL");
    await app.start();
    generation++;
  }
  await Bun.sleep(200);
  isOver = true;
  await running;

  const { events } = (await (await app.request("/api/events")).json()) as { events: Event[] };
  expect(acknowledged.size).toBeGreaterThan(kills * 100);
  expect(new Set(events.map(({ name }) => name)).size).toBe(events.length);
  const known = events.filter(({ id, name }) => acknowledged.has(id) || !unknown.has(name));
  expect(known.map(({ id, name }) => `${id} ${name}`).sort()).toEqual(
    [...acknowledged].map((pair) => pair.join(" ")).sort(),
  );
  // Ten kills under load meet some events between their commit and their answer.
  expect(repeated).toBeGreaterThan(0);

  const { channels: counted } = (await (await app.request("/api/channels")).json()) as {
    channels: Channel[];
  };
  for (const { id, events: count } of counted) {
    expect(count).toBe(events.filter((event) => event.channelId === id).length);
  }
  await app.end("SIGTERM");
  const database = new Database(databaseFile(app.config.dataDirectory), { readonly: true });
  const one = (sql: string) => Object.values(database.query(sql).get() as object)[0];
  expect(one("SELECT sum(events) FROM counters")).toBe(events.length);
  expect(one("SELECT count(*) FROM events_index WHERE events_index MATCH '1a'")).toBe(events.length);
  expect(one("PRAGMA integrity_check")).toBe("ok");
  database.close();
}, 60_000);

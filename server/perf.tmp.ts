import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArrivalClock } from "./event/id.ts";
import { parseSearch } from "./event/search.ts";
import { createProject } from "./projects/projects.ts";
import { funnel } from "./storage/analysis/funnel.ts";
import { measure } from "./storage/analysis/measure.ts";
import { createReadPeople } from "./storage/analysis/person-hashes.ts";
import { retention } from "./storage/analysis/retention.ts";
import { withPeople } from "./storage/people.ts";
import { createBlocks } from "./storage/sqlite/blocks.ts";
import { openSqliteStore } from "./storage/sqlite/index.ts";
import { databaseFile, openForReading } from "./storage/sqlite/open.ts";
import { peopleSource } from "./storage/sqlite/people.ts";
import { createRead } from "./storage/sqlite/read.ts";
import { createScan } from "./storage/sqlite/scan.ts";
import { openVocabulary } from "./storage/sqlite/vocabulary.ts";
import { acceptedEvent } from "./testing/accepted-event.ts";
import { testWatch } from "./testing/engine.ts";

const dir = mkdtempSync(join(tmpdir(), "perf-"));
const store = await openSqliteStore(dir, testWatch);
const clock = new ArrivalClock(null);
const { id: projectId } = await createProject(store.control, "P", null);
const day = 86_400_000;
const startMs = Date.UTC(2026, 9, 1);
const total = Number(process.argv[2] ?? 1_000_000);
const people = 100_000;
let x = 1;
const rnd = (n: number) => {
  x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return x % n;
};
for (let at = 0; at < total; at += 5_000)
  await store.events.appendAll(
    Array.from({ length: 5_000 }, () =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        createdAtMs: startMs + Math.floor(((at + rnd(5000)) / total) * 30 * day),
        event: {
          channelId: `channel-${rnd(3)}`,
          name: `name ${rnd(20)}`,
          userId: `user-${rnd(people)}`,
          tags: { plan: rnd(2) ? "pro" : "free" },
        },
      }),
    ),
  );
await store.events.indexBlocks(async () => {}, Date.now() + day);
console.log("loaded");
const rows = Array.from({ length: 30_000 }, (_, n) => ({
  projectId,
  userId: `user-${n + 50_000}`,
  personId: `user-${n}`,
  joinedTo: `user-${n}`,
  joinedAt: 1,
  joinedBy: "merge" as const,
  joinedName: null,
  properties: "{}",
  identifiedAt: null,
  filled: "[]",
  version: 1,
}));
for (let at = 0; at < rows.length; at += 1_000)
  await store.control
    .insertInto("personIds")
    .values(rows.slice(at, at + 1_000))
    .execute();
await store.control
  .insertInto("peopleVersions")
  .values({ projectId, version: 1, removedVersion: 0, joined: rows.length })
  .execute();
const database = openForReading(databaseFile(dir));
const vocabulary = openVocabulary(database);
const blocks = createBlocks(database);
const scan = createScan(database, vocabulary, blocks);
const read = createRead(database, vocabulary, blocks);
const readPeople = createReadPeople(peopleSource(database));
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const c0 = cpu();
await readPeople(projectId);
console.log("reading 30,000 IDs, cpu ms", (cpu() - c0).toFixed(0));
const without = { scan, readPeople: async () => null };
const with_ = { scan, readPeople };
const range = { fromMs: startMs, toMs: startMs + 30 * day };
const bounds = Array.from({ length: 31 }, (_, n) => startMs + n * day);
const weeks = Array.from({ length: 5 }, (_, n) => startMs + n * 7 * day);
const q = { search: parseSearch("user:user-4711")! };
const questions: Record<string, (s: typeof with_) => Promise<unknown>> = {
  users: (s) => measure(s, { projectId, filter: {}, bounds, metric: "users", series: 0 }, {}),
  funnel: (s) =>
    funnel(
      s,
      {
        projectId,
        range,
        steps: [0, 1, 2].map((n) => ({ channel: `channel-${n}` })),
        windowMs: 7 * day,
        series: 0,
      },
      {},
    ),
  retention: (s) =>
    retention(s, { projectId, bounds: weeks, start: {}, return: {}, historyFromMs: null }, {}),
  page: async (s) => {
    for (let n = 0; n < 50; n++) {
      const filter = s === with_ ? await withPeople(store.control, projectId, q) : q;
      await read.page({ projectId, filter, order: "desc" }, 50);
    }
  },
};
for (const [name, ask] of Object.entries(questions)) {
  const ms: [number[], number[]] = [[], []];
  for (let n = 0; n < 16; n++)
    for (const [i, s] of [without, with_].entries()) {
      const c = cpu();
      await ask(s as typeof with_);
      ms[i]!.push(cpu() - c);
    }
  const med = (a: number[]) => a.slice(2).sort((p, r) => p - r)[7]!;
  console.log(
    name,
    "without",
    med(ms[0]).toFixed(1),
    "with",
    med(ms[1]).toFixed(1),
    "ratio",
    (med(ms[1]) / med(ms[0])).toFixed(2),
  );
}
database.close();
await store.close();
rmSync(dir, { recursive: true });

/** The parts of the drill that need no cluster, and that its configuration is what the documentation describes. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { startDelayedLink } from "../../testing/delayed-link.ts";
import { docExamples } from "../../testing/doc-examples.ts";
import { Answers } from "./answers.ts";
import {
  addressOf,
  configurationFile,
  databaseNames,
  folder,
  nodeAddresses,
  readVariables,
} from "./configuration.ts";
import { faults } from "./faults.ts";
import { Ledger, Successes } from "./ledger.ts";
import { combine, compareStored, type Outcome } from "./outcome.ts";
import { missingFrom } from "./readers.ts";
import { missingRequirement } from "./requirements.ts";
import { StreamLog } from "./streams.ts";
import { formatTable } from "./table.ts";

const page = readFileSync(join(import.meta.dir, "../../../docs/postgres.md"), "utf8");

describe("docs/postgres.md describes what the drill runs", () => {
  test("names each file", () => {
    for (const name of readdirSync(configurationFile(""))) expect(page).toContain(`\`${name}\``);
    expect(page).toContain(`\`${folder}/\``);
  });

  test("shows the Caddyfile", () => {
    const blocks = docExamples().map(({ text }) => text.trim());
    expect(blocks).toContain(readFileSync(configurationFile("Caddyfile"), "utf8").trim());
  });

  test("has a line with each fault", () => {
    for (const { name, what } of faults) expect(page).toContain(`| \`${name}\`: ${what}`);
  });

  test("all files have the same addresses", () => {
    const peers = databaseNames.map((name) => `${name}=http://${addressOf(name)}:2380`).join(",");
    expect(readVariables("cluster.env").ETCD_INITIAL_CLUSTER).toBe(peers);
    const proxy = readFileSync(configurationFile("haproxy.cfg"), "utf8");
    for (const name of databaseNames) expect(proxy).toContain(`server ${name} ${addressOf(name)}:5432 check`);
    expect(nodeAddresses()).toHaveLength(2);
  });
});

test("what is missing is named as a command to install it", () => {
  expect(missingRequirement(() => true)).toBeNull();
  expect(missingRequirement((path) => !/etcd$|nft$/.test(path))).toContain(
    "apt-get install --no-install-recommends etcd-server nftables python3-etcd\n",
  );
});

describe("pauses", () => {
  test("the longest time without a success, from the beginning to the end", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 1 }), (times) => {
        const sorted = times.toSorted((a, b) => a - b);
        const successes = new Successes();
        for (const ms of sorted) successes.add(ms, ms);
        const points = [0, ...sorted, 1_000];
        const gaps = points.slice(1).map((ms, index) => ms - points[index]!);
        expect(successes.longestPause(0, 1_000)).toBe(Math.max(...gaps));
      }),
    );
  });

  test("the slowest call is one that ended in that time", () => {
    const successes = new Successes();
    successes.add(0, 90);
    successes.add(50, 120);
    successes.add(60, 250);
    expect(successes.slowest(100, 200)).toBe(70);
  });
});

test("the ledger keeps the latest events for readers, each once", () => {
  const ledger = new Ledger();
  const event = { channel: "c", createdAtMs: 0, atMs: 0 };
  for (let n = 0; n < 2_000; n++) ledger.acknowledge({ ...event, id: `${n}`, userId: `${n}` });
  ledger.acknowledge({ ...event, id: "1999", userId: "1999" });
  expect(ledger.acknowledged.size).toBe(2_000);
  expect(ledger.recent()).toHaveLength(600);
  expect(ledger.recent().at(-1)!.id).toBe("1999");
});

describe("what is compared", () => {
  const event = { channel: "c", createdAtMs: 0, atMs: 0 };

  test("an event that is not stored, or stored as another one, is lost", () => {
    const stored = [{ id: "1", userId: "a" }];
    expect(compareStored(stored, [{ ...event, id: "1", userId: "a" }])).toEqual({ lost: 0, doubled: 0 });
    expect(compareStored(stored, [{ ...event, id: "1", userId: "b" }])).toEqual({ lost: 1, doubled: 0 });
    expect(compareStored(stored, [{ ...event, id: "2", userId: "a" }])).toEqual({ lost: 1, doubled: 0 });
  });

  test("two events of the same call are doubled", () => {
    const stored = [
      { id: "1", userId: "a" },
      { id: "2", userId: "a" },
    ];
    expect(compareStored(stored, [])).toEqual({ lost: 0, doubled: 1 });
  });

  test("a page must list what is newer than its oldest event", () => {
    const events = Array.from({ length: 150 }, (_, n) => ({ id: `${n}`, channel: "c", createdAtMs: n }));
    const full = events.slice(50).toReversed();
    expect(missingFrom(full, events)).toEqual([]);
    const withGap = full.map((each) => (each.id === "90" ? { ...each, id: "other" } : each));
    expect(missingFrom(withGap, events).map(({ id }) => id)).toEqual(["90"]);
    // A page that is not full is the whole list.
    expect(missingFrom(full.slice(0, 20), events.slice(0, 1))).toHaveLength(1);
  });

  test("a stream that repeats an event or falls back is noticed", () => {
    const log = new StreamLog("stream");
    log.add("1", "1767225600000-1");
    log.add("2", "1767225600000-2");
    expect([log.doubled, log.outOfOrder, log.missing(["1", "2", "3"])]).toEqual([0, 0, 1]);
    log.add("1", "1767225600000-1");
    expect([log.doubled, log.outOfOrder]).toEqual([1, 1]);
  });

  test("answers that no fault explains are kept", () => {
    const answers = new Answers();
    for (const status of [201, 503, 507, null]) answers.add(status, "POST /api/events", "{}");
    const half = { results: [{ ok: true }, { ok: false, status: 503 }] };
    answers.add(207, "POST /api/events", JSON.stringify(half));
    expect(answers.unexpected).toEqual([]);
    answers.add(500, "GET /api/events", "{}");
    answers.add(207, "POST /api/events", JSON.stringify({ results: [{ ok: false, status: 422 }] }));
    expect(answers.unexpected).toHaveLength(2);
  });
});

test("the table has the longest times and the sums of each fault", () => {
  const outcome: Outcome = {
    fault: "switchover",
    writePauseMs: 2_000,
    readPauseMs: 1_000,
    slowestWriteMs: 3_000,
    slowestReadMs: 1_500,
    recoveryMs: 4_000,
    lost: 1,
    doubled: 0,
    missing: 2,
    repeated: 0,
    outOfOrder: 0,
    resets: 0,
    vanished: 0,
    listedEarly: 0,
  };
  const outcomes = [outcome, { ...outcome, writePauseMs: 5_000, lost: 0 }];
  expect(combine(outcomes)).toMatchObject([{ times: 2, writePauseMs: 5_000, lost: 1, missing: 4 }]);
  expect(formatTable(outcomes).split("\n").at(-1)).toEndWith(
    "| 2 | 5.0 s | 1.0 s | 3.0 s | 1.5 s | 1 | 0 | 4 |",
  );
});

test("a delayed link passes everything on, later and in order", async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const link = await startDelayedLink({ host: "127.0.0.1", port }, "127.0.0.1", 50);
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const startMs = performance.now();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: link.port,
    socket: {
      data(_, bytes) {
        text += bytes.toString();
        if (text.length === 6) resolve(text);
      },
    },
  });
  for (const part of ["ab", "cd", "ef"]) {
    socket.write(part);
    await Bun.sleep(5);
  }
  expect(await promise).toBe("abcdef");
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(100);
  link.close();
  server.close();
});

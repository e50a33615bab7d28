// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { effort } from "../../server/testing/engine.ts";
import { testApp } from "../../server/testing/test-app.ts";
import { expectRequestEvents } from "../testing/framework-events.ts";
import { findProgram, runDriver, runProgram } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the Go client need Go 1.19 or newer (apt-get install golang-go).";
const go = findProgram(["go"], ["version"], needed);
const directory = mkdtempSync(join(tmpdir(), "tidings-go-"));
const driver = join(directory, "driver");
const run = (...args: string[]) => runProgram([go!, ...args], import.meta.dir);

beforeAll(async () => {
  if (go !== null) await run("build", "-o", driver, "./tests/driver");
}, 300_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

clientSuite("go", go === null ? null : { command: [driver] });

test.skipIf(go === null)("requests are reported with their route, never with their path", async () => {
  await using app = await testApp();
  const settings = { url: app.address, key: app.key, channel: "net/http" };
  expect(await runDriver({ command: [driver] }, "requests", settings)).toEqual([200, 200, 200, 500, 404]);
  await expectRequestEvents(app, "net/http", { order: "/orders/", broken: "/broken/", error: "no stock" });
});

test.skipIf(go === null)("Go's own tests pass", () => run("test", "./..."));

const isLong = effort(false, true);
test.skipIf(go === null || !isLong)(
  "the code is formatted, and vet finds nothing, also for Windows",
  async () => {
    expect(await runProgram(["gofmt", "-l", "."], import.meta.dir)).toBe("");
    await run("vet", "./...");
    await runProgram([go!, "vet", "."], import.meta.dir, { GOOS: "windows" });
  },
);

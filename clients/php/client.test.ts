// @long
import { expect, test } from "bun:test";
import { join } from "node:path";
import { testApp } from "../../server/testing/test-app.ts";
import { findProgram, runDriver } from "../testing/programs.ts";
import { clientSuite, namesUpTo } from "../testing/suite.ts";

const needed = "the tests of the PHP client need PHP 8.1 with curl (apt-get install php-cli php-curl).";
const php = findProgram(
  ["php"],
  ["-r", "exit(PHP_VERSION_ID >= 80100 && extension_loaded('curl') ? 0 : 1);"],
  needed,
);
const file = join(import.meta.dir, "tests/driver.php");
const driver = php === null ? null : { command: [php, "-d", "error_reporting=-1", file] };

clientSuite("php", driver, { isSenderOnly: true, canClose: false });

test.skipIf(driver === null)("events of the end of a program are sent, or reported", async () => {
  await using app = await testApp();
  const settings = { key: app.key, channel: "late", count: 2, close: 0.5 };
  await runDriver(driver!, "late", { ...settings, url: app.address });
  const names = (await app.list("?channel=late")).map(({ name }) => name);
  expect(names.toSorted()).toEqual(namesUpTo(3));
  const unreachable = { ...settings, url: "http://127.0.0.1:1", report: true };
  expect(await runDriver(driver!, "late", unreachable)).toEqual(
    [0, 1, 2].map((number) => [`n ${number}`, "undeliverable"]),
  );
});

test.skipIf(driver === null)("a response without end is not read", async () => {
  const part = new Uint8Array(1_000_000);
  let parts = 0;
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            if (parts++ < 1_000) controller.enqueue(part);
            else controller.close();
          },
        }),
      ),
  });
  const settings = { url: server.url.origin, key: "k", channel: "c", count: 1, close: 0.5, report: true };
  const command = [...driver!.command];
  command.splice(1, 0, "-d", "memory_limit=32M");
  expect(await runDriver({ command }, "ending", settings)).toEqual([["n 0", "undeliverable"]]);
});

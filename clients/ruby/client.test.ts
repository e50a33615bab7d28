import { expect, test } from "bun:test";
import { join } from "node:path";
import { findProgram, runDriver } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the Ruby client need Ruby 3.0 or newer (apt-get install ruby).";
const ruby = findProgram(["ruby"], ["-e", "exit RUBY_VERSION >= '3.0'"], needed);

const driver = ruby === null ? null : { command: [ruby, "-w", join(import.meta.dir, "tests/driver.rb")] };

clientSuite("ruby", driver, { isSenderOnly: true });

test.skipIf(driver === null)(
  "the end of a program ends a pause, and a forked one has no queue yet",
  async () => {
    const statuses = [500, 200];
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch() {
        const status = statuses.shift() ?? 400;
        return Response.json(status === 200 ? { results: [{ ok: true }] } : {}, { status });
      },
    });
    const settings = { url: server.url.origin, key: "k", channel: "c", count: 0, close: 5 };
    expect(await runDriver(driver!, "pausing", settings)).toEqual([]);
    expect(statuses).toEqual([]);
  },
);

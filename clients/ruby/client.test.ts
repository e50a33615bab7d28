// @long
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

test.skipIf(driver === null)(
  "an attempt ends in time, however slowly or long a server responds",
  async () => {
    const body = JSON.stringify({ results: [{ ok: true }] });
    const head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    const endless = [
      { start: `${head}x: `, rest: "x" },
      { start: `${head}\r\n`, rest: "x".repeat(500_000) },
    ];
    const timers: Timer[] = [];
    using server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(socket) {
          const response = endless.shift();
          socket.write(response?.start ?? `${head}content-length: ${body.length}\r\n\r\n${body}`);
          if (response) timers.push(setInterval(() => socket.write(response.rest), 50));
        },
        data() {},
      },
    });
    const settings = { url: `http://127.0.0.1:${server.port}`, key: "k", channel: "c", count: 1, close: 8 };
    expect(await runDriver(driver!, "ending", { ...settings, report: true })).toEqual([]);
    for (const timer of timers) clearInterval(timer);
    expect(endless).toEqual([]);
  },
);

import { dlopen, ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf, makeStorage, removeStorage } from "../testing/engine.ts";
import { startServer } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";
import { socketAddress } from "./systemd.ts";

const doNotWait = 0x40;

test.skipIf(process.platform !== "linux")("systemd is told: ready, alive, stopping", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-systemd-"));
  const NOTIFY_SOCKET = join(directory, "notify");
  const { symbols, close } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  });
  const handle = symbols.socket(1, 2, 0);
  const address = socketAddress(NOTIFY_SOCKET);
  expect(symbols.bind(handle, ptr(address), address.length)).toBe(0);
  const states: string[] = [];
  const buffer = Buffer.alloc(100);
  const receive = () => {
    for (;;) {
      const length = Number(symbols.recv(handle, ptr(buffer), buffer.length, doNotWait));
      if (length <= 0) return;
      states.push(buffer.toString("utf8", 0, length));
    }
  };
  const untilTold = (state: string) =>
    until(() => {
      receive();
      return states.includes(state);
    });

  const storage = await makeStorage();
  const server = await startServer({ ...environmentOf(storage), NOTIFY_SOCKET, WATCHDOG_USEC: "200000" });
  await untilTold("READY=1");
  await untilTold("WATCHDOG=1");
  expect((await server.end("SIGTERM")).code).toBe(0);
  await untilTold("STOPPING=1");
  symbols.close(handle);
  close();
  await removeStorage(storage);
  rmSync(directory, { recursive: true });
});

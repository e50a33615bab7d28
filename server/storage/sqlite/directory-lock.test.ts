import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awaitDirectory, lockDirectory, otherHolder } from "./directory-lock.ts";
import { lockFile } from "./file-lock.ts";

test("a holder on another host is another process, also if it has the same number", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-lock-"));
  const lock = lockDirectory(directory, "server");
  expect(otherHolder(directory)).toBeNull();
  // As in two containers that share a volume, where each server is process 1.
  const file = join(directory, "tidings.holder");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), host: "elsewhere" }));
  expect(otherHolder(directory)).toStartWith(`Process ${process.pid} on elsewhere (a server, since `);
  lock.release();
  expect(otherHolder(directory)).toBeNull();
  rmSync(directory, { recursive: true });
});

test("a server that was killed is not taken for a command that looks at the lock", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-lock-"));
  const killed = { what: "server", pid: 1, host: "elsewhere", since: new Date().toISOString() };
  writeFileSync(join(directory, "tidings.holder"), JSON.stringify(killed));
  const looking = lockFile(join(directory, "tidings.lock"))!;
  setTimeout(() => looking.release(), 50);
  const lock = await awaitDirectory(directory, "server", () => {});
  lock.release();
  rmSync(directory, { recursive: true });
});

test("something in the lock is not taken for a damaged database", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-lock-"));
  const file = join(directory, "tidings.lock");
  writeFileSync(file, "4711\n".repeat(200));
  expect(() => lockDirectory(directory, "server")).toThrow(`${file} is only a lock and must be empty`);
  expect(otherHolder(directory)).toBeNull();
  rmSync(directory, { recursive: true });
});

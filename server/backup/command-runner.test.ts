import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandRunner } from "./command-runner.ts";

test("commands run one after another, also after one that failed or was killed", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-commands-"));
  const commands = new CommandRunner(directory);
  const ended: string[] = [];
  const run = (name: string, ...args: string[]) => {
    const command = commands.run(...args);
    const output = command.output.then(
      (text) => {
        ended.push(name);
        return text;
      },
      (error: Error) => {
        ended.push(name);
        return error.message;
      },
    );
    return { ...command, output };
  };
  // A server runs until it is killed. Its port is read when it starts.
  process.env.PORT = "0";
  const server = run("server", "serve");
  const version = run("version", "--version");
  const unstarted = run("unstarted", "--version");
  const unknown = run("unknown", "no-such-command");
  const last = run("last", "--version");
  unstarted.kill();
  // It would print its version in a tenth of this time.
  await Bun.sleep(3_000);
  expect(ended).toEqual([]);
  server.kill();
  expect(await version.output).toMatch(/^\d+\.\d+\.\d+/);
  expect(await unstarted.output).toBe('"tidings --version" was not started');
  expect(await unknown.output).toContain("no-such-command");
  expect(await last.output).toMatch(/^\d+\.\d+\.\d+/);
  expect(ended).toEqual(["server", "version", "unstarted", "unknown", "last"]);
  delete process.env.PORT;
  rmSync(directory, { recursive: true });
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandRunner } from "./command-runner.ts";

const place = mkdtempSync(join(tmpdir(), "tidings-commands-"));
const version = /^\d+\.\d+\.\d+/;

beforeAll(() => {
  // A server runs until it is killed. It reads its port when it starts.
  process.env.PORT = "0";
});

afterAll(() => {
  delete process.env.PORT;
  rmSync(place, { recursive: true });
});

function recordingEnds(commands: CommandRunner) {
  const ended: string[] = [];
  const run = (name: string, ...args: string[]) => {
    const command = commands.run(...args);
    const output = command.output.catch((error: Error) => error.message).finally(() => ended.push(name));
    return { ...command, output };
  };
  return { ended, run };
}

test("commands run one after another, also after one that failed or was killed", async () => {
  const { ended, run } = recordingEnds(new CommandRunner(join(place, "one")));
  const server = run("server", "serve");
  const second = run("second", "--version");
  const unstarted = run("unstarted", "--version");
  const unknown = run("unknown", "no-such-command");
  const last = run("last", "--version");
  unstarted.kill();
  expect(await unstarted.output).toBe('"tidings --version" was not started');
  // It would print its version in a tenth of this time.
  await Bun.sleep(3_000);
  expect(ended).toEqual(["unstarted"]);
  server.kill();
  expect(await second.output).toMatch(version);
  expect(await unknown.output).toContain("no-such-command");
  expect(await last.output).toMatch(version);
  expect(ended).toEqual(["unstarted", "server", "second", "unknown", "last"]);
});

test("a command that hangs stops no other", async () => {
  const { ended, run } = recordingEnds(new CommandRunner(join(place, "two"), 500));
  const server = run("server", "serve");
  expect(await run("second", "--version").output).toMatch(version);
  expect(ended).toEqual(["second"]);
  server.kill();
  await server.output;
});

import { expect, test } from "bun:test";
import { bashScript, fishScript, zshScript } from "./completion.ts";
import { describeCommand, runnable } from "./describe-command.ts";
import { commandLine } from "./index.ts";

const program = await describeCommand(commandLine);

test("bash completes commands, options and values", () => {
  const lines = [["ex"], ["channel", ""], ["stats", "--by", ""], ["log", "--ta"], ["tail", "-f", "--js"]];
  const calls = lines.map((words) => {
    const all = ["tidings", ...words].map((word) => `'${word}'`).join(" ");
    return `COMP_WORDS=(${all}); COMP_CWORD=${words.length}; _tidings; echo "\${COMPREPLY[*]}"`;
  });
  const { stdout, stderr } = Bun.spawnSync([
    "bash",
    "--norc",
    "-c",
    [bashScript(program), ...calls].join("\n"),
  ]);
  expect(stderr.toString()).toBe("");
  expect(stdout.toString().split("\n")).toEqual([
    "export",
    "list create edit archive delete",
    "minute hour day week month",
    "--tag",
    "--json",
    "",
  ]);
});

test("zsh and fish know every command and option", () => {
  const scripts = [zshScript(program), fishScript(program)];
  for (const { path, options } of runnable(program)) {
    for (const script of scripts) {
      expect(script).toContain(path.join(" "));
      for (const { name, isPositional } of options) if (!isPositional) expect(script).toContain(name);
    }
  }
});

test("every command and option is described", () => {
  for (const { path, text, options } of runnable(program)) {
    const texts = [text, ...options.map(({ text }) => text)];
    expect([path.join(" "), texts.filter((each) => each.trim() === "")]).toEqual([path.join(" "), []]);
  }
});

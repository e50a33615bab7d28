import { expect, test } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import { describeCommand, runnable } from "./describe-command.ts";
import { examples } from "./examples.ts";
import { helpText, optionText } from "./help.ts";
import { commandLine } from "./index.ts";
import { checkOptions } from "./run-command-line.ts";

const program = await describeCommand(commandLine);
const commands = [...runnable(program)];

/** Those that print no data: a server, and scripts for a shell. */
const withoutJson = ["serve", "completion bash", "completion zsh", "completion fish"];

test("every command prints JSON", () => {
  const without = commands.filter(({ options }) => !options.some(({ name }) => name === "json"));
  expect(without.map(({ path }) => path.join(" "))).toEqual(withoutJson);
});

test("every command has an example that is a call of it", () => {
  expect(Object.keys(examples).toSorted()).toEqual(commands.map(({ path }) => path.join(" ")).toSorted());
  for (const command of commands) {
    const { path, example, options } = command;
    const [, ...words] = (example!.split(/ (?=[<>]{1,2} )/)[0]!.match(/'[^']*'|\S+/g) ?? []).map((word) =>
      word.replaceAll("'", ""),
    );
    expect(words.slice(0, path.length)).toEqual(path);
    const rest = words.slice(path.length);
    expect(checkOptions(command, rest)).toEqual({ args: rest, isHelp: false, isQuiet: false });
    for (const option of options.filter(({ isRequired, isPositional }) => isRequired && !isPositional))
      expect([example, rest.includes(`--${option.name}`)]).toEqual([example, true]);
  }
});

test("help names everything, fits its width, and has no colors in a pipe", () => {
  for (const command of [program, ...program.commands, ...commands]) {
    const text = helpText(command, 80);
    for (const { path } of command.commands) expect(text).toContain(`  ${path.at(-1)}`);
    for (const option of command.options) expect(text).toContain(optionText(option));
    if (command.example !== null) expect(text).toContain(command.example);
    expect(text).toBe(stripVTControlCharacters(text));
    expect(text).not.toMatch(/ $/m);
    const table = text.split("\n").filter((line) => line.startsWith("    "));
    expect(table.filter((line) => line.length > 80)).toEqual([]);
  }
});

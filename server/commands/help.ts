import { stripVTControlCharacters } from "node:util";
import { type CommandDescription, type OptionDescription, quietOption } from "./describe-command.ts";
import { styled } from "./output.ts";

/** Width of the text if there is no terminal, and at most. */
const usualColumns = 100;
const margin = "  ";

/** What `--help` prints about a command. */
export function helpText(command: CommandDescription, columns = terminalColumns()): string {
  const { path, text, options, commands, example } = command;
  const common = commands.length > 0 ? [] : [quietOption];
  const below = commands.map(({ path, text }): [string, string] => [path.at(-1)!, text]);
  const parts = [
    `${text.replace(/\.$/, "")}.`,
    section("Usage", [`${margin}${usageLine(command)} [options]`]),
    section("Commands", table(below, columns)),
    section("Options", table([...options, ...common].map(rowOf), columns)),
    ...(example === null ? [] : [section("Example", [margin + example])]),
    commands.length > 0 ? `More about a command: ${["tidings help", ...path].join(" ")} COMMAND` : "",
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** An option as it is written: `-f, --follow`, `--limit N`, `FILE`. */
export function optionText({ name, aliases, hint, isPositional }: OptionDescription): string {
  if (isPositional) return name.toUpperCase();
  return `${[...aliases.map((alias) => `-${alias}`), `--${name}`].join(", ")}${hint === null ? "" : ` ${hint}`}`;
}

/** The command with what it needs. */
export function usageLine({ path, options, commands }: CommandDescription): string {
  const needed = options.filter(({ isPositional, isRequired }) => isPositional || isRequired);
  const below = commands.length > 0 ? ["COMMAND"] : [];
  return ["tidings", ...path, ...below, ...needed.map(usageOf)].join(" ");
}

function usageOf(option: OptionDescription): string {
  return option.isRequired ? optionText(option) : `[${optionText(option)}]`;
}

function rowOf(option: OptionDescription): [string, string] {
  return [
    optionText(option),
    option.text + (option.fallback === null ? "" : ` (default: ${option.fallback})`),
  ];
}

function section(title: string, lines: string[]): string {
  return lines.length === 0 ? "" : [styled("bold", title), ...lines].join("\n");
}

/** Two columns, the second one in lines that fit. */
function table(rows: [string, string][], columns: number): string[] {
  const width = Math.max(0, ...rows.map(([first]) => first.length)) + 2;
  const indent = margin.length + width;
  return rows.flatMap(([first, text]) =>
    wrapped(text, Math.max(columns - indent, 30)).map((line, index) =>
      index === 0
        ? margin + styled("cyan", first) + " ".repeat(width - first.length) + line
        : " ".repeat(indent) + line,
    ),
  );
}

function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of stripVTControlCharacters(text).split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function terminalColumns(): number {
  return Math.min(process.stdout.columns || usualColumns, usualColumns);
}

import type { ArgDef, CommandDef, Resolvable } from "citty";
import { examples } from "./examples.ts";

export type OptionDescription = {
  name: string;
  aliases: string[];
  isPositional: boolean;
  isRequired: boolean;
  /** It takes a value, which the hint names. Null if it takes none. */
  hint: string | null;
  /** The values it can have; empty if it can have others. */
  values: string[];
  fallback: string | null;
  text: string;
};

/** What every command takes. */
export const quietOption: OptionDescription = {
  name: "quiet",
  aliases: ["q"],
  isPositional: false,
  isRequired: false,
  hint: null,
  values: [],
  fallback: null,
  text: "Print no messages but errors",
};

export type CommandDescription = {
  /** Empty for the program itself. */
  path: string[];
  text: string;
  /** How it is called, such as `tidings seed --days 7`; null for commands that only have others below. */
  example: string | null;
  options: OptionDescription[];
  commands: CommandDescription[];
};

/** Everything that is defined about a command and those below it: for completion, the docs, and checks. */
export async function describeCommand(command: CommandDef, path: string[] = []): Promise<CommandDescription> {
  const meta = await resolved(command.meta ?? {});
  const args = await resolved(command.args ?? {});
  const commands: CommandDescription[] = [];
  for (const [name, below] of Object.entries(await resolved(command.subCommands ?? {})))
    commands.push(await describeCommand(await resolved(below), [...path, name]));
  return {
    path,
    text: meta.description ?? "",
    example: commands.length === 0 ? `tidings ${examples[path.join(" ")]}` : null,
    options: Object.entries(args).map(([name, arg]) => optionOf(name, arg)),
    commands,
  };
}

function optionOf(name: string, arg: ArgDef): OptionDescription {
  const isPositional = arg.type === "positional";
  const values = arg.type === "enum" ? (arg.options ?? []) : [];
  const takesValue = arg.type !== "boolean" && !isPositional;
  const fallback = arg.default === undefined || arg.default === false ? null : String(arg.default);
  return {
    name,
    aliases: "alias" in arg ? [arg.alias ?? []].flat() : [],
    isPositional,
    isRequired: fallback === null && (isPositional ? arg.required !== false : arg.required === true),
    hint: takesValue ? values.join("|") || arg.valueHint || "VALUE" : null,
    values,
    fallback,
    text: arg.description ?? "",
  };
}

/** All commands that can be run, in order. */
export function* runnable(command: CommandDescription): Generator<CommandDescription> {
  if (command.commands.length === 0) yield command;
  for (const below of command.commands) yield* runnable(below);
}

async function resolved<Value>(value: Resolvable<Value>): Promise<Value> {
  return typeof value === "function" ? (value as () => Value | Promise<Value>)() : value;
}

import { stripVTControlCharacters } from "node:util";
import { type CommandDef, runCommand } from "citty";
import { fullVersion } from "../process/version.ts";
import { nearest } from "../validation/nearest.ts";
import {
  type CommandDescription,
  describeCommand,
  type OptionDescription,
  quietOption,
} from "./describe-command.ts";
import { helpText } from "./help.ts";
import { silenceMessages } from "./output.ts";
import { ArgumentError, failCommand } from "./with-store.ts";

/** Runs a command. Ends the process with 2 and a sentence if the command or its options don't exist. */
export async function runCommandLine(commandLine: CommandDef, words: string[]): Promise<void> {
  try {
    const [first, ...rest] = words;
    const rawArgs = first === "help" ? [...rest, "--help"] : words;
    if (rawArgs.length === 1 && (first === "--version" || first === "-v")) {
      console.log(fullVersion());
      return;
    }
    const { command, path, args, isHelp, isQuiet } = await check(commandLine, rawArgs);
    if (isQuiet) silenceMessages();
    if (isHelp) console.log(helpText(await describeCommand(command, path)));
    else
      await runCommand(commandLine, { rawArgs: [...path, ...args] }).catch((error) =>
        throwAsArgumentError(error, path),
      );
  } catch (error) {
    process.exit(failCommand(error));
  }
}

/** The parser's own errors are no sentences. */
function throwAsArgumentError(error: Error, path: string[]): never {
  if (error.name !== "CLIError") throw error;
  throw new ArgumentError(`${stripVTControlCharacters(error.message).replace(/\.$/, "")}. ${helpHint(path)}`);
}

/** Finds the command that the arguments name, and checks their options, which the parser itself does not. */
async function check(commandLine: CommandDef, rawArgs: string[]) {
  let command = commandLine;
  let rest = rawArgs;
  const path: string[] = [];
  for (;;) {
    const below =
      (typeof command.subCommands === "function" ? await command.subCommands() : await command.subCommands) ??
      {};
    const names = Object.keys(below);
    const [name] = rest;
    if (names.length === 0) break;
    if (name === undefined || /^(-h|--help)$/.test(name)) return { command, path, ...forHelp };
    if (!Object.hasOwn(below, name)) {
      const suggestion = nearest(name, names);
      throw new ArgumentError(
        `There is no command "${[...path, name].join(" ")}".${suggestion ? ` Did you mean "${[...path, suggestion].join(" ")}"?` : ""} ${helpHint(path)}`,
      );
    }
    const found = below[name]!;
    command = (await (typeof found === "function" ? found() : found)) as CommandDef;
    path.push(name);
    rest = rest.slice(1);
  }
  return { command, path, ...checkOptions(await describeCommand(command, path), rest) };
}

type Checked = {
  /** The arguments without those that every command takes. */
  args: string[];
  isHelp: boolean;
  isQuiet: boolean;
};
const forHelp: Checked = { args: [], isHelp: true, isQuiet: false };

/** Throws an ArgumentError for an unknown option, and for one without its value. */
export function checkOptions({ path, options }: CommandDescription, rawArgs: string[]): Checked {
  const named = [...options.filter(({ isPositional }) => !isPositional), quietOption];
  const quietAt = new Set<number>();
  let positionals = options.filter(({ isPositional }) => isPositional).length;
  for (let at = 0; at < rawArgs.length; at++) {
    const arg = rawArgs[at]!;
    if (arg === "--") break;
    if (arg === "--help" || arg === "-h") return forHelp;
    if (!arg.startsWith("-") || arg === "-") {
      if (positionals-- > 0) continue;
      throw new ArgumentError(`"${arg}" is one argument too many. ${helpHint(path)}`);
    }
    const equals = arg.indexOf("=");
    const name = equals === -1 ? arg : arg.slice(0, equals);
    const option = optionNamed(named, name);
    if (!option) {
      const suggestion = nearest(
        name.replace(/^-+/, ""),
        named.map(({ name }) => name),
      );
      throw new ArgumentError(
        `There is no option ${name}.${suggestion ? ` Did you mean --${suggestion}?` : ""} ${helpHint(path)}`,
      );
    }
    if (option === quietOption && !name.startsWith("--no-")) quietAt.add(at);
    if (option.hint === null || equals !== -1) continue;
    const value = rawArgs[++at];
    // A text that is an option's name can still be given with an equals sign.
    if (value === undefined || (value.startsWith("--") && optionNamed(named, value)))
      throw new ArgumentError(`${name} needs a value. ${helpHint(path)}`);
  }
  return { args: rawArgs.filter((_, at) => !quietAt.has(at)), isHelp: false, isQuiet: quietAt.size > 0 };
}

function optionNamed(options: OptionDescription[], text: string): OptionDescription | undefined {
  return options.find(
    ({ name, aliases, hint }) =>
      text === `--${name}` ||
      (hint === null && text === `--no-${name}`) ||
      aliases.some((alias) => text === `-${alias}`),
  );
}

function helpHint(path: string[]): string {
  return `See: tidings ${[...path, "--help"].join(" ")}`;
}

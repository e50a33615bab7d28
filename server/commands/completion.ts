import { defineCommand } from "citty";
import { type CommandDescription, type OptionDescription, quietOption } from "./describe-command.ts";
import { write } from "./output.ts";

export function completionCommand(describe: () => Promise<CommandDescription>) {
  const forShell = (shell: string, scriptOf: (program: CommandDescription) => string) =>
    defineCommand({
      meta: { name: shell, description: `For ${shell}; the script says where it belongs` },
      run: async () => write(scriptOf(await describe())),
    });
  return defineCommand({
    meta: {
      name: "completion",
      description: "Print a script that completes commands and options in a shell",
    },
    subCommands: {
      bash: forShell("bash", bashScript),
      zsh: forShell("zsh", zshScript),
      fish: forShell("fish", fishScript),
    },
  });
}

/** `source <(tidings completion bash)` */
export function bashScript(program: CommandDescription): string {
  const commands = allCommands(program);
  return `# Completion of tidings for bash. Add to ~/.bashrc: source <(tidings completion bash)
_tidings() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= words= index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path \${COMP_WORDS[index]}" in
      ${pathsOf(program)}) path="$path \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path $previous" in
${valuesOf(commands)
  .map(({ key, values }) => `    ${quoted(key)}) words=${quoted(values.join(" "))} ;;\n`)
  .join("")}${freeOptionsOf(commands)
  .map((key) => `    ${quoted(key)}) return ;;\n`)
  .join("")}    *) case "$path" in
${commands.map(({ key, words }) => `      ${quoted(key)}) words=${quoted(words.map(({ word }) => word).join(" "))} ;;\n`).join("")}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tidings tidings
`;
}

/** Into a directory of `$fpath`, as `_tidings`. */
export function zshScript(program: CommandDescription): string {
  const commands = allCommands(program);
  const item = ({ word, text }: Word) => quoted(`${word}:${text.replaceAll(":", "\\:")}`);
  return `#compdef tidings
# Completion of tidings for zsh. Add to ~/.zshrc, after compinit: source <(tidings completion zsh)
_tidings() {
  local at= index
  local -a items
  for ((index = 2; index < CURRENT; index++)); do
    case "$at \${words[index]}" in
      ${pathsOf(program)}) at="$at \${words[index]}" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${valuesOf(commands)
  .map(({ key, values }) => `    ${quoted(key)}) compadd -- ${values.map(quoted).join(" ")}; return ;;\n`)
  .join("")}${freeOptionsOf(commands)
  .map((key) => `    ${quoted(key)}) _files; return ;;\n`)
  .join("")}  esac
  case "$at" in
${commands.map(({ key, words }) => `    ${quoted(key)}) items=(${words.map(item).join(" ")}) ;;\n`).join("")}  esac
  if [[ \${words[CURRENT]} != -* && \${#items} -gt 0 && \${items[1]} == -* ]]; then _files; else _describe -o tidings items; fi
}
compdef _tidings tidings
`;
}

/** `~/.config/fish/completions/tidings.fish` */
export function fishScript(program: CommandDescription): string {
  const commands = allCommands(program);
  const lines = commands.flatMap(({ key, command }) => [
    ...command.commands.map(
      ({ path, text }) =>
        `complete -c tidings -f -n ${at(key)} -a ${quoted(path.at(-1)!)} -d ${quoted(text)}`,
    ),
    ...command.options
      .filter(({ isPositional }) => !isPositional)
      .map(({ name, aliases, hint, values, text }) =>
        [
          `complete -c tidings -n ${at(key)} -l ${name}`,
          ...aliases.map((alias) => `-s ${alias}`),
          ...(hint === null ? [] : [values.length > 0 ? `-x -a ${quoted(values.join(" "))}` : "-r"]),
          `-d ${quoted(text)}`,
        ].join(" "),
      ),
  ]);
  return `# Completion of tidings for fish. Save as ~/.config/fish/completions/tidings.fish
function __tidings_at
  set -l commands ${commands
    .map(({ key }) => quoted(key.trim()))
    .filter((key) => key !== "''")
    .join(" ")}
  set -l at
  for word in (commandline -opc)[2..]
    if contains -- (string join ' ' $at $word) $commands
      set -a at $word
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
  function at(key: string): string {
    return quoted(`__tidings_at "${key.trim()}"`);
  }
}

type Word = { word: string; text: string };
/** A command with its path as the scripts write it, each word after a space, and what can follow. */
type Described = { key: string; command: CommandDescription; words: Word[] };

function allCommands(command: CommandDescription): Described[] {
  const { path, commands, options } = command;
  const words = [
    ...commands.map(({ path, text }) => ({ word: path.at(-1)!, text })),
    ...options
      .filter(({ isPositional }) => !isPositional)
      .map(({ name, text }) => ({ word: `--${name}`, text })),
    ...(commands.length > 0
      ? []
      : [
          { word: `--${quietOption.name}`, text: quietOption.text },
          { word: "--help", text: "Show how it is used" },
        ]),
  ];
  return [{ key: keyOf(path), command, words }, ...commands.flatMap(allCommands)];
}

function keyOf(path: string[]): string {
  return path.map((word) => ` ${word}`).join("");
}

/** The pattern of all paths below the program. */
function pathsOf(program: CommandDescription): string {
  return allCommands(program)
    .filter(({ key }) => key !== "")
    .map(({ key }) => quoted(key))
    .join("|");
}

function valuesOf(commands: Described[]): { key: string; values: string[] }[] {
  return optionsOf(commands)
    .filter(({ option }) => option.values.length > 0)
    .map(({ key, option }) => ({ key, values: option.values }));
}

/** Options whose value can be anything, such as a file. */
function freeOptionsOf(commands: Described[]): string[] {
  return optionsOf(commands)
    .filter(({ option }) => option.hint !== null && option.values.length === 0)
    .map(({ key }) => key);
}

function optionsOf(commands: Described[]): { key: string; option: OptionDescription }[] {
  return commands.flatMap(({ key, command }) =>
    command.options
      .filter(({ isPositional }) => !isPositional)
      .flatMap((option) =>
        [`--${option.name}`, ...option.aliases.map((alias) => `-${alias}`)].map((name) => ({
          key: `${key} ${name}`,
          option,
        })),
      ),
  );
}

/** As one word of any of these shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}

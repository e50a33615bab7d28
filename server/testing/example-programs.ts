import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type ExampleProgram = {
  /** What must be installed. */
  program: string;
  /** The command that runs an example. It can write files to the directory. */
  command: (text: string, directory: string) => string[];
};

const clients = join(import.meta.dir, "../../clients");

function file(directory: string, name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** A program with a module of its own, which has the client. */
function goCommand(text: string, directory: string): string[] {
  const folder = join(directory, "go-example");
  mkdirSync(folder, { recursive: true });
  file(folder, "example.go", text);
  const client = "tidings.example/tidings";
  file(
    folder,
    "go.mod",
    `module example\n\ngo 1.19\n\nrequire ${client} v0.1.0\n\nreplace ${client} => ${join(clients, "go")}\n`,
  );
  return ["sh", "-c", 'cd "$0" && go run .', folder];
}

/** How examples of the documentation in other languages are run, by the language of their block. */
export const examplePrograms: Record<string, ExampleProgram> = {
  go: { program: "go", command: goCommand },
  php: {
    program: "php",
    command: (text, directory) => {
      copyFileSync(join(clients, "php/Tidings.php"), join(directory, "Tidings.php"));
      return ["php", file(directory, "example.php", text)];
    },
  },
  python: {
    program: "python3",
    command: (text) => ["env", `PYTHONPATH=${join(clients, "python/src")}`, "python3", "-B", "-c", text],
  },
  ruby: {
    program: "ruby",
    command: (text, directory) => {
      copyFileSync(join(clients, "ruby/tidings.rb"), join(directory, "tidings.rb"));
      return ["ruby", file(directory, "example.rb", text)];
    },
  },
};

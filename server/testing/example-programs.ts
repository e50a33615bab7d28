import { writeFileSync } from "node:fs";
import { join } from "node:path";

type ExampleProgram = {
  /** What must be installed. */
  program: string;
  /** The command that runs an example. It can write files to the directory. */
  command: (text: string, directory: string) => string[];
};

function file(directory: string, name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** How examples of the documentation in other languages are run, by the language of their block. */
export const examplePrograms: Record<string, ExampleProgram> = {
  go: { program: "go", command: (text, directory) => ["go", "run", file(directory, "example.go", text)] },
  php: { program: "php", command: (text, directory) => ["php", file(directory, "example.php", text)] },
  python: { program: "python3", command: (text) => ["python3", "-c", text] },
  ruby: { program: "ruby", command: (text, directory) => ["ruby", file(directory, "example.rb", text)] },
};

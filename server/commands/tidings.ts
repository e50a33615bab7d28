#!/usr/bin/env bun
import { commandLine } from "./index.ts";
import { runCommandLine } from "./run-command-line.ts";

// The program's own process (`storage/sqlite/residue-scan.ts`), not a command for people.
const [command, file] = process.argv.slice(2);
if (command === "scan-residue" && file !== undefined) {
  const { scanResidue } = await import("../storage/sqlite/residue-scan.ts");
  await scanResidue(file);
} else {
  // Without a command, the server starts, as people expect of `npx tidings`.
  await runCommandLine(commandLine, command === undefined ? ["serve"] : process.argv.slice(2));
}

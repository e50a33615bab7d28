#!/usr/bin/env bun
import { commandLine } from "./index.ts";
import { runCommandLine } from "./run-command-line.ts";

// Without a command, the server starts, as people expect of `npx tidings`.
const words = process.argv.slice(2);
await runCommandLine(commandLine, words.length === 0 ? ["serve"] : words);

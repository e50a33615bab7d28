#!/usr/bin/env node
/** The `tidings` command of the npm package: runs the program with the Bun that was installed with it. */
import { fileURLToPath } from "node:url";
import { runBun } from "./bun.mjs";

const program = fileURLToPath(new URL("dist/tidings.js", import.meta.url));
runBun([program, ...process.argv.slice(2)], {
  isBehindShell: process.env.npm_command === "exec",
  installCommand: "npm install tidings",
});

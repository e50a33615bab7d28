/** Installs what Tidings needs to run, builds the dashboard if its sources changed, and runs the server. */
import "./install.mjs";
import "./build.mjs";
import { fileURLToPath } from "node:url";
import { runBun } from "./bun.mjs";

const server = fileURLToPath(new URL("../server/main.ts", import.meta.url));
runBun([server, ...process.argv.slice(2)], {
  isBehindShell: process.env.npm_command !== undefined,
  installCommand: "npm install",
});

/** Installs what is missing, and runs the server and the dashboard (http://localhost:5173) in watch mode. */
import "./install.mjs";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = {
  ...process.env,
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  TIDINGS_URL: "http://localhost:5173",
};
const commands = [
  ["bun", ["--watch", "--no-clear-screen", "server/main.ts"], root],
  ["vite", [], `${root}dashboard`],
];
const children = commands.map(([command, args, cwd]) => spawn(command, args, { cwd, env, stdio: "inherit" }));

function stop() {
  for (const child of children) child.kill();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, stop);
for (const child of children) child.on("exit", stop);

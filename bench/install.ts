import { join } from "node:path";
import { root, run } from "./processes.ts";

/** Installs what Tidings is compared with, on the first run or if it was compiled for another Node version. */
export async function installCompared(): Promise<void> {
  const cwd = join(root, "bench");
  const packages = ["fastify", "@duckdb/node-api", "@redis/client", "@nats-io/jetstream"];
  const check = `Promise.all([import('better-sqlite3'), ${packages.map((name) => `import('${name}')`).join(", ")}]).then(([sqlite]) => new sqlite.default(':memory:'))`;
  const works = await run({ command: ["node", "--input-type=module", "--eval", check], cwd }).then(
    () => true,
    () => false,
  );
  if (works) return;
  console.error("Installing what Tidings is compared with, once (npm ci in bench/, about a minute) …");
  await run({ command: ["npm", "ci", "--no-audit", "--no-fund"], cwd });
}

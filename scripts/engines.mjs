/** Reports code outside storage/, migrate-to/, settings, the list of files, commands and tests that depends on a storage engine. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("../server/", import.meta.url));
const allowed =
  /^(?:storage|migrate-to|commands|doctor|testing|e2e|node_modules)\/|^config\/|^process\/(?:open-store|program-files)\.ts$|\.test\.ts$/;
const engine = /postgres|sqlite|from "pg"/i;
/** Exceptions: here it is better-auth's name for a table layout. */
const exceptions = { "auth/auth-adapter.ts": 'type: "sqlite"' };

let isClean = true;
for (const path of readdirSync(server, { recursive: true }).map((path) => path.replaceAll("\\", "/"))) {
  if (!path.endsWith(".ts") || allowed.test(path)) continue;
  const lines = readFileSync(server + path, "utf8").split("\n");
  for (const [index, line] of lines.entries()) {
    if (!engine.test(line.replace(exceptions[path] ?? "", ""))) continue;
    console.log(`server/${path}:${index + 1}: ${line.trim()}`);
    isClean = false;
  }
}
if (!isClean)
  console.log("Outside storage/, nothing knows which engine runs (node scripts/invariants.mjs --list).");
process.exit(isClean ? 0 : 1);

/** Tells where the server's code knows of an engine of storage that is not to know of any: only storage/, migrate-to/, the settings, the commands and tests may. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("../server/", import.meta.url));
const mayKnow =
  /^(?:storage|migrate-to|commands|testing|node_modules)\/|^(?:config|open-store)\.ts$|\.test\.ts$/;
const engine = /postgres|sqlite|from "pg"/i;
/** What sounds like an engine, and is better-auth's word for how tables are laid out. */
const soundsLike = { "auth/auth.ts": 'type: "sqlite"' };

let isClean = true;
for (const path of readdirSync(server, { recursive: true }).map((path) => path.replaceAll("\\", "/"))) {
  if (!path.endsWith(".ts") || mayKnow.test(path)) continue;
  const lines = readFileSync(server + path, "utf8").split("\n");
  for (const [index, line] of lines.entries()) {
    if (!engine.test(line.replace(soundsLike[path] ?? "", ""))) continue;
    console.log(`server/${path}:${index + 1}: ${line.trim()}`);
    isClean = false;
  }
}
if (!isClean) console.log("Outside storage/, nothing knows which engine runs (ARCHITECTURE.md).");
process.exit(isClean ? 0 : 1);

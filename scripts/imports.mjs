/** Tells of imports in the server's code that run against the order of its folders, and of circles between files. Types count as well. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("../server/", import.meta.url));

/** The server's folders and files from the ground up, as ARCHITECTURE.md has them: each imports only what stands before it. */
const order = [
  "version.ts",
  "limits.ts",
  "problems.ts",
  "turns.ts",
  "config.ts",
  "validation",
  "event",
  "wire",
  "log.ts",
  "failure-log.ts",
  "http",
  "storage",
  "storage/sqlite",
  "storage/postgres",
  "open-store.ts",
  "background",
  "users",
  "channels",
  "projects",
  "notifications",
  "auth",
  "ingest",
  "events",
  "search",
  "stats",
  "readiness.ts",
  "services.ts",
  "status.ts",
  "pages.ts",
  "app.ts",
  "main.ts",
  "generate.ts",
  "migrate-to",
  "commands",
];

const files = readdirSync(server, { recursive: true })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /^(?!node_modules|testing\/).*(?<!\.test)\.ts$/.test(path));
const importsOf = new Map(files.map((path) => [path, imports(path)]));
const faults = [];
const seen = new Set();

for (const [path, imported] of importsOf) {
  for (const other of imported) {
    if (placeOf(other) <= placeOf(path)) continue;
    faults.push(`server/${path} imports ${other}, which stands above it.`);
  }
}
for (const path of files) findCircles(path, []);
for (const fault of new Set(faults)) console.log(fault);
if (faults.length > 0) console.log("The order of folders is in scripts/imports.mjs and ARCHITECTURE.md.");
process.exit(faults.length > 0 ? 1 : 0);

function imports(path) {
  const source = readFileSync(server + path, "utf8");
  const found = source.matchAll(/\b(?:from|import|new URL)\s*\(?\s*["'](\.{1,2}\/[^"']+\.ts)["']/g);
  return [...found]
    .map(([, target]) => relative(server, join(server, dirname(path), target)).replaceAll("\\", "/"))
    .filter((target) => !target.startsWith(".."));
}

function placeOf(path) {
  const parts = path.split("/");
  for (let length = parts.length; length > 0; length--) {
    const place = order.indexOf(parts.slice(0, length).join("/"));
    if (place >= 0) return place;
  }
  throw new Error(`server/${path} has no place in the order of scripts/imports.mjs.`);
}

function findCircles(path, way) {
  const start = way.indexOf(path);
  if (start >= 0) faults.push(`A circle: ${smallestFirst(way.slice(start)).join(" → ")}`);
  else if (!seen.has(path)) {
    for (const other of importsOf.get(path) ?? []) findCircles(other, [...way, path]);
    seen.add(path);
  }
}

function smallestFirst(circle) {
  const first = circle.indexOf(circle.toSorted()[0]);
  return [...circle.slice(first), ...circle.slice(0, first)];
}

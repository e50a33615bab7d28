/** Reports server imports that violate the order of folders, and import cycles. Type imports count too. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("../server/", import.meta.url));

/** The server's folders and files from the bottom up (see ARCHITECTURE.md). Each imports only what comes before it. */
const order = [
  "core",
  "scheduling",
  "process/program-files.ts",
  "validation",
  "config",
  "process/version.ts",
  "process/log.ts",
  "http/listen.ts",
  "event",
  "schemas",
  "http",
  "storage",
  "storage/sqlite",
  "storage/postgres",
  "process/open-store.ts",
  "process/open-files.ts",
  "backup",
  "audit",
  "background",
  "users",
  "channels",
  "views",
  "stats",
  "insights",
  "boards",
  "rules",
  "projects",
  "notifications",
  "auth",
  "invitations",
  "ingest",
  "drop-in",
  "transfer",
  "webhooks",
  "connections",
  "events",
  "search",
  "metrics",
  "process",
  "mcp",
  "http/dashboard-files.ts",
  "app.ts",
  "process/open-services.ts",
  "serve.ts",
  "main.ts",
  "migrate-to",
  "doctor",
  "commands",
  "docs",
];

const files = readdirSync(server, { recursive: true })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /^(?!node_modules|testing\/|e2e\/).*(?<!\.test)\.ts$/.test(path));
const importsOf = new Map(files.map((path) => [path, imports(path)]));
const problems = [];
const seen = new Set();

for (const [path, imported] of importsOf) {
  for (const target of imported) {
    if (rankOf(target) <= rankOf(path)) continue;
    problems.push(`server/${path} imports ${target}, which comes later in the order.`);
  }
}
for (const path of files) findCycles(path, []);
for (const problem of new Set(problems)) console.log(problem);
if (problems.length > 0) console.log("The order of folders is in scripts/imports.mjs and ARCHITECTURE.md.");
process.exit(problems.length > 0 ? 1 : 0);

function imports(path) {
  const source = readFileSync(server + path, "utf8");
  const found = source.matchAll(/\b(?:from|import|new URL)\s*\(?\s*["'](\.{1,2}\/[^"']+\.ts)["']/g);
  return [...found]
    .map(([, target]) => relative(server, join(server, dirname(path), target)).replaceAll("\\", "/"))
    .filter((target) => !target.startsWith(".."));
}

function rankOf(path) {
  const parts = path.split("/");
  for (let length = parts.length; length > 0; length--) {
    const rank = order.indexOf(parts.slice(0, length).join("/"));
    if (rank >= 0) return rank;
  }
  throw new Error(`server/${path} is missing from the order in scripts/imports.mjs.`);
}

function findCycles(path, trail) {
  const start = trail.indexOf(path);
  if (start >= 0) problems.push(`Import cycle: ${smallestFirst(trail.slice(start)).join(" → ")}`);
  else if (!seen.has(path)) {
    for (const target of importsOf.get(path) ?? []) findCycles(target, [...trail, path]);
    seen.add(path);
  }
}

function smallestFirst(cycle) {
  const first = cycle.indexOf(cycle.toSorted()[0]);
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}

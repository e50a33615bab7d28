/** Reports server imports that violate the order of folders, and import cycles. Type imports count too. */
import { posix } from "node:path";
import { searchServer } from "./syntax.mjs";

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
  "storage/clickhouse",
  "process/open-store.ts",
  "process/open-files.ts",
  "backup",
  "audit",
  "background",
  "alerts",
  "silences",
  "on-call",
  "users",
  "cohorts",
  "channels",
  "views",
  "stats",
  "insights",
  "annotations",
  "boards",
  "rules",
  "projects",
  "notifications",
  "auth",
  "invitations",
  "ingest",
  "people",
  "groups",
  "drop-in",
  "website",
  "transfer",
  "webhooks",
  "interactions",
  "heartbeats",
  "reports",
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

// Paths of threads count as imports, too.
const imports = searchServer(
  (path) => !/^(?:testing|e2e)\/|\.test\.ts$/.test(path),
  (report) => ({ Literal: (node) => /^\.{1,2}\/.+\.ts$/.test(node.value) && report(node) }),
);
const importsOf = new Map();
for (const { path, node } of imports) {
  const target = posix.join(posix.dirname(path), node.value);
  if (!target.startsWith("..")) importsOf.set(path, [...(importsOf.get(path) ?? []), target]);
}
const problems = [];
const seen = new Set();

for (const [path, imported] of importsOf) {
  for (const target of imported) {
    if (rankOf(target) <= rankOf(path)) continue;
    problems.push(`server/${path} imports ${target}, which comes later in the order.`);
  }
}
for (const path of importsOf.keys()) findCycles(path, []);
for (const problem of new Set(problems)) console.log(problem);
if (problems.length > 0) console.log("The order of folders is in scripts/imports.mjs and ARCHITECTURE.md.");
process.exit(problems.length > 0 ? 1 : 0);

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

/**
 * Reports code outside storage/, migrate-to/, settings, the list of files, commands and tests that knows a storage
 * engine: it names one, imports its driver, or reads the setting that chooses it.
 */
import { searchServer } from "./syntax.mjs";

const allowed =
  /^(?:storage|migrate-to|commands|doctor|testing|e2e|config)\/|^process\/(?:open-store|program-files)\.ts$|\.test\.ts$/;
const engine = /postgres|sqlite|clickhouse|^pg(?:$|[-/])|^database(?:Url|Connections)$|DATABASE_URL/i;
/** better-auth's name for a table layout. */
const layout = { path: "auth/auth-adapter.ts", text: 'type: "sqlite"' };

const found = searchServer(
  (path) => !allowed.test(path),
  (report) => ({
    Identifier: (node) => engine.test(node.name) && report(node),
    Literal: (node) => typeof node.value === "string" && engine.test(node.value) && report(node),
    TemplateElement: (node) => engine.test(node.value.cooked) && report(node),
  }),
).filter(({ path, text }) => path !== layout.path || !text.includes(layout.text));
for (const { path, line, text } of found) console.log(`server/${path}:${line}: ${text}`);
if (found.length > 0)
  console.log("Outside storage/, nothing knows which engine runs (node scripts/invariants.mjs --list).");
process.exit(found.length > 0 ? 1 : 0);

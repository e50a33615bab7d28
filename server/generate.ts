/** Writes docs/openapi.json from the routes and their schemas; with `--check`, compares and fails where it is stale. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApp } from "./app.ts";
import type { Services } from "./services.ts";

const file = join(import.meta.dir, "../docs/openapi.json");

// The description depends on declarations alone: no route is called, so the services may be empty.
const empty = new Proxy({}, { get: (_, name): unknown => (name === "then" ? undefined : empty) }) as Services;
const response = await createApp(empty).fetch(new Request("http://localhost/openapi.json"));
const text = `${JSON.stringify(await response.json(), null, 2)}\n`;

if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== text) {
    console.error("docs/openapi.json is out of date. Run `npm run generate`.");
    process.exit(1);
  }
} else writeFileSync(file, text);

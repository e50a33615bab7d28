/**
 * Writes docs/openapi.json from the routes and their schemas, and the table in docs/settings.md from the settings. With
 * `--check`, compares them instead and fails if one is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApp } from "./app.ts";
import { settings } from "./config.ts";
import type { Services } from "./services.ts";

const docs = join(import.meta.dir, "../docs");

// The description depends only on declarations. No route is called, so the services can be empty.
const empty = new Proxy({}, { get: (_, name): unknown => (name === "then" ? undefined : empty) }) as Services;
const response = await createApp(empty).fetch(new Request("http://localhost/openapi.json"));
write("openapi.json", `${JSON.stringify(await response.json(), null, 2)}\n`);

const settingsPage = readFileSync(join(docs, "settings.md"), "utf8");
write(
  "settings.md",
  settingsPage.replace(/(?<=<!-- settings: [^\n]* -->\n)[\s\S]*(?=<!-- \/settings -->)/, settingsTable),
);

function settingsTable(): string {
  const rows = Object.values(settings).map(({ variable, fallback, help }) => [
    `\`${variable}\``,
    fallback === null ? "" : `\`${fallback}\``,
    help,
  ]);
  const all = [["variable", "default", "description"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return ["", lines[0], rule, ...lines.slice(1), "", ""].join("\n");
}

function write(name: string, text: string): void {
  const file = join(docs, name);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`docs/${name} is out of date. Run \`npm run generate\`.`);
    process.exit(1);
  }
}

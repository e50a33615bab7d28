/**
 * Writes docs/openapi.json from the routes and their schemas, the tables in docs/settings.md and docs/permissions.md
 * from the settings and permissions, and the commands in docs/cli.md from their definitions. With
 * `--check`, compares them instead and fails if one is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describedApp } from "../app.ts";
import { type CommandDescription, describeCommand, runnable } from "../commands/describe-command.ts";
import { optionText, usageLine } from "../commands/help.ts";
import { commandLine } from "../commands/index.ts";
import { settings } from "../config/settings.ts";
import { permissionTexts } from "../core/permission-texts.ts";
import { keyMay, type PermissionName, permissions, roleMay, roles, scopes } from "../core/permissions.ts";

const docs = join(import.meta.dir, "../../docs");

const response = await describedApp().fetch(new Request("http://localhost/openapi.json"));
write("openapi.json", `${JSON.stringify(await response.json(), null, 2)}\n`);

writeTable("settings", [
  ["variable", "default", "description"],
  ...Object.values(settings).map(({ variable, fallback, help }) => [
    `\`${variable}\``,
    !fallback ? "" : `\`${fallback}\``,
    help,
  ]),
]);

writeTable("permissions", [
  ["", ...roles, ...scopes.map((scope) => `key: ${scope}`), "publishable key"],
  ...Object.keys(permissions).map((name) => {
    const permission = name as PermissionName;
    const keys = scopes.map((scope) => ({ kind: "secret" as const, scopes: new Set([scope]) }));
    const publishable = { kind: "publishable" as const, scopes: new Set(["ingest" as const]) };
    return [
      permissionTexts[permission],
      ...roles.map((role) => (roleMay(role, permission) ? "yes" : "")),
      ...[...keys, publishable].map((key) => (keyMay(key, permission) ? "yes" : "")),
    ];
  }),
]);

writePart("cli", [...runnable(await describeCommand(commandLine))].map(commandText).join("\n"));

/** A command's heading, usage and options. */
function commandText(command: CommandDescription): string {
  const { path, text, options, example } = command;
  const rows = options.map((option) => [
    `\`${optionText(option).replaceAll("|", "\\|")}\``,
    option.fallback === null ? option.text : `${option.text} (default: ${option.fallback})`,
  ]);
  const table = rows.length === 0 ? [] : ["", ...tableLines([["option", ""], ...rows])];
  return [
    `### tidings ${path.join(" ")}`,
    "",
    `${text.replace(/\.$/, "")}.`,
    "",
    "```sh",
    usageLine(command),
    ...(example === usageLine(command) ? [] : [example!]),
    "```",
    ...table,
    "",
  ].join("\n");
}

/** Writes a table into docs/NAME.md. */
function writeTable(name: string, rows: string[][]): void {
  writePart(
    name,
    tableLines(rows)
      .map((line) => `${line}\n`)
      .join(""),
  );
}

function tableLines(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0]!, rule, ...lines.slice(1)];
}

/** Writes a text into docs/NAME.md, between the comments that mark its place. */
function writePart(name: string, text: string): void {
  const page = readFileSync(join(docs, `${name}.md`), "utf8");
  const place = new RegExp(`(?<=<!-- ${name}: [^\n]* -->\n)[\\s\\S]*(?=<!-- /${name} -->)`);
  write(
    `${name}.md`,
    page.replace(place, () => `\n${text}\n`),
  );
}

function write(name: string, text: string): void {
  const file = join(docs, name);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`docs/${name} is out of date. Run \`npm run generate\`.`);
    process.exit(1);
  }
}

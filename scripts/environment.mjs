/** Reports code outside config/config.ts that reads the environment, in whatever way it gets hold of `env`. */
import { searchServer } from "./syntax.mjs";

const readers = [
  "config/config.ts",
  // Passes the whole environment on to the commands that make and check backups.
  "backup/command-runner.ts",
  // systemd's own variables are no settings.
  "process/systemd.ts",
];

const found = searchServer(
  (path) => !/^(?:testing|e2e)\/|\.test\.ts$/.test(path),
  (report) => ({
    // process.env, Bun.env, import.meta.env
    MemberExpression: ({ property, computed }) => !computed && property.name === "env" && report(property),
    // process["env"]
    Literal: (node) => node.value === "env" && report(node),
    TemplateElement: (node) => node.value.cooked === "env" && report(node),
    // const { env } = process
    ObjectPattern({ properties }) {
      for (const { key } of properties) if (key?.name === "env") report(key);
    },
    // import { env } from "node:process"
    ImportSpecifier: ({ imported }) => imported.name === "env" && report(imported),
    ExportSpecifier: ({ local }) => local.name === "env" && report(local),
  }),
);
const others = found.filter(({ path }) => !readers.includes(path));
for (const { path, line, text } of others) console.log(`server/${path}:${line}: ${text}`);
if (others.length > 0) console.log("Only server/config/config.ts reads settings from the environment.");
const unused = readers.filter((reader) => !found.some(({ path }) => path === reader));
for (const reader of unused)
  console.log(`server/${reader} no longer reads the environment: remove it from this script.`);
process.exit(others.length + unused.length > 0 ? 1 : 0);

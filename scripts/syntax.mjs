/** Searches the syntax trees of the server's source files, so that no comment counts and no spelling hides a use. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "oxc-parser";

const server = fileURLToPath(new URL("../server/", import.meta.url));

/**
 * Returns each reported node with its path, line and the line's text.
 *
 * @param isSearched - whether a file is searched, by its path in `server/`
 * @param visitorOf - makes an oxc visitor, which reports nodes
 */
export function searchServer(isSearched, visitorOf) {
  const paths = readdirSync(server, { recursive: true }).map((path) => path.replaceAll("\\", "/"));
  return paths
    .filter((path) => path.endsWith(".ts") && !path.startsWith("node_modules/") && isSearched(path))
    .flatMap((path) => searchFile(path, visitorOf));
}

function searchFile(path, visitorOf) {
  const source = readFileSync(server + path, "utf8");
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`server/${path}: ${errors[0].message}`);
  const lines = source.split("\n");
  const found = [];
  new Visitor(
    visitorOf((node) => {
      const line = source.slice(0, node.start).split("\n").length;
      found.push({ path, line, text: lines[line - 1].trim(), node });
    }),
  ).visit(program);
  return found;
}

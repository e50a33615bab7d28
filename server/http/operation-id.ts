/** Last parts of paths that say what a POST does to what is before them. */
const actions = new Set([
  "confirm",
  "delete",
  "leave",
  "preview",
  "read",
  "renew",
  "resend",
  "restore",
  "retry",
  "rotate",
  "test",
  "transfer",
]);

/**
 * An operation's name in clients that are generated from the API description: a verb and what the path names, such as
 * `listKeys`, `getKey` or `rotateKey`. Where that isn't what people would say, the route has one of its own.
 */
export function operationIdOf(method: string, path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== "api");
  const isParameter = (part: string | undefined) => part?.startsWith("{") === true;
  const last = parts.at(-1)!;
  const verb = method === "post" && actions.has(last) ? last : verbOf(method, last);
  const nouns = (verb === last ? parts.slice(0, -1) : parts).flatMap((part, index, all) => {
    if (isParameter(part)) return [];
    const isOne = isParameter(all[index + 1]) || (verb === "create" && index === all.length - 1);
    return isOne ? singular(part) : part;
  });
  return verb + nouns.map(capitalized).join("");
}

function verbOf(method: string, last: string): string {
  if (method === "get") return last.endsWith("s") ? "list" : "get";
  return { post: "create", put: "set", patch: "update", delete: "delete" }[method]!;
}

function singular(noun: string): string {
  return noun.endsWith("ies") ? `${noun.slice(0, -3)}y` : noun.replace(/s$/, "");
}

function capitalized(part: string): string {
  return part
    .split(/[-_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { apiKey, type ContractServer, contractServer } from "./testing/contract-server.ts";

const client = join(import.meta.dir, "..");
const tsc = join(client, "../node_modules/typescript/bin/tsc");

/** A directory with nothing but the installed package. */
let customer: string;
/** What `npm publish` would upload. */
let tarball: string;
let server: ContractServer;

beforeAll(async () => {
  customer = await mkdtemp(join(tmpdir(), "tidings-client-"));
  await writeFile(join(customer, "package.json"), '{ "type": "module" }');
  // Builds the package first.
  await run(["npm", "pack", "--pack-destination", customer], client);
  tarball = join(customer, (await readdir(customer)).find((name) => name.endsWith(".tgz"))!);
  await run(["npm", "install", "--offline", "--no-audit", "--no-fund", tarball]);
  server = contractServer();
}, 120_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(customer, { recursive: true, force: true });
});

async function run(command: string[], cwd = customer): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${output}${errors}`);
  return output;
}

const script = `(async () => {
const tidings = createClient({ baseUrl: "BASE_URL", apiKey: "${apiKey}", timeoutMs: 500 });
const event = await tidings.track({ channel: "payments", name: "Payment received", tags: { amount: 42 } });
const listed = await tidings.list();
const rejected = await tidings.track({ channel: "", name: "x" }).catch((error) => error);
const gone = await createClient({ baseUrl: "GONE_URL", apiKey: "k", retries: 0 })
  .track({ channel: "c", name: "n" })
  .catch((error) => error);
const aborted = await tidings.list({}, { signal: AbortSignal.abort(new Error("enough")) }).catch((error) => error);
console.log(JSON.stringify({
  event,
  listed: listed.events.map(({ id }) => id),
  rejected: rejected instanceof TidingsError && [rejected.code, rejected.errors[0].pointer],
  gone: gone instanceof TidingsNetworkError && gone.message,
  aborted: aborted.message,
}));
})();
`;

const imports = {
  mjs: 'import { createClient, TidingsError, TidingsNetworkError } from "@tidings/client";',
  cjs: 'const { createClient, TidingsError, TidingsNetworkError } = require("@tidings/client");',
};

for (const format of ["mjs", "cjs"] as const) {
  test(`the package works under Node as ${format}, even after a response that breaks off`, async () => {
    server.events.clear();
    const gone = contractServer();
    await gone[Symbol.asyncDispose]();
    const program = script.replace("BASE_URL", server.url).replace("GONE_URL", gone.url);
    await writeFile(join(customer, `track.${format}`), `${imports[format]}\n${program}`);
    server.mishaps.push("broken-response", "silence", { response: new Response("no", { status: 503 }) });
    const printed = JSON.parse(await run(["node", `track.${format}`]));
    expect(server.events.size).toBe(1);
    expect(printed).toEqual({
      event: [...server.events.values()][0],
      listed: [...server.events.keys()],
      rejected: ["body-invalid", "/channel"],
      gone: expect.stringContaining(`from ${gone.url}/api/events (attempt 1): connect ECONNREFUSED`),
      aborted: "enough",
    });
  }, 30_000);
}

test("a bundler takes the package, without anything of Node", async () => {
  await writeFile(join(customer, "page.js"), 'export { createClient } from "@tidings/client";');
  const built = await Bun.build({ entrypoints: [join(customer, "page.js")], target: "browser" });
  const text = await built.outputs[0]!.text();
  expect(text).toContain("createClient");
  expect(text).not.toContain("node:");
});

const typed = `import { createClient, TidingsError, type Event } from "@tidings/client";
const tidings = createClient({ baseUrl: "https://tidings.example.com", apiKey: "tdg_sk_x" });
type Events = { "Payment received": { amount: number; plan?: string }; "Signed up": {} };
const strict = createClient<Events>({ baseUrl: "https://tidings.example.com", apiKey: "tdg_sk_x" });
export async function main() {
  const event: Event = await tidings.track({ channel: "payments", name: "n", tags: { amount: 42, plan: null } });
  const cursor: string | null = (await tidings.list({ limit: 10, from: new Date() })).nextCursor;
  for await (const { name } of tidings.live({ q: "x" })) console.log(name satisfies string);
  // @ts-expect-error: the channel is missing
  tidings.track({ name: "n" });
  // @ts-expect-error: a misspelt member
  tidings.capture({ channel: "c", name: "n", icn: "x" });
  strict.capture({ channel: "c", name: "Payment received", tags: { amount: 42 } });
  strict.capture({ channel: "c", name: "Signed up" });
  // @ts-expect-error: a tag is missing
  strict.capture({ channel: "c", name: "Payment received" });
  // @ts-expect-error: a tag of another type
  strict.capture({ channel: "c", name: "Payment received", tags: { amount: "42" } });
  // @ts-expect-error: an unknown name
  strict.capture({ channel: "c", name: "Payment recieved" });
  return (error: unknown) => (error instanceof TidingsError ? error.errors[0]?.pointer : [event, cursor]);
}
`;

test("the package's types work in strict TypeScript, as ES modules and as CommonJS", async () => {
  for (const extension of ["mts", "cts"]) await writeFile(join(customer, `typed.${extension}`), typed);
  for (const module of ["nodenext", "preserve"]) {
    const flags = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--target", "es2022"];
    const files = ["typed.mts", "typed.cts"];
    await run(["node", tsc, ...flags, "--types", "", "--lib", "es2022,dom", "--module", module, ...files]);
  }
}, 60_000);

test("publint and arethetypeswrong find nothing wrong with the package", async () => {
  const { messages } = await publint({ pkgDir: join(customer, "node_modules/@tidings/client"), pack: false });
  expect(messages).toEqual([]);
  const bytes = await Bun.file(tarball).bytes();
  const checked = await checkPackage(createPackageFromTarballData(bytes));
  // Subpaths need `exports`, which TypeScript's old resolution doesn't read.
  const problems =
    checked.types &&
    checked.problems.filter((one) => !("resolutionKind" in one && one.resolutionKind === "node10"));
  expect(problems).toEqual([]);
}, 60_000);

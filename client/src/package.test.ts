// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { apiKey, type ContractServer, contractServer } from "./testing/contract-server.ts";
import { type InstalledPackage, installPackage } from "./testing/installed-package.ts";
import { exampleGlobals, readmeExamples } from "./testing/readme-examples.ts";

const tsc = join(import.meta.dir, "../../node_modules/typescript/bin/tsc");

let customer: InstalledPackage;
let server: ContractServer;
let app: TestApp;

beforeAll(async () => {
  const types = ["@types/express", "@types/node", "@types/react"];
  customer = await installPackage(["express", "fastify", "hono", "pino", "react", ...types]);
  server = contractServer();
  app = await testApp();
}, 600_000);

afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await customer?.[Symbol.asyncDispose]();
});

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
    await customer.write(`track.${format}`, `${imports[format]}\n${program}`);
    server.mishaps.push("broken-response", "silence", { response: new Response("no", { status: 503 }) });
    const printed = JSON.parse(await customer.run(["node", `track.${format}`]));
    expect(server.events.size).toBe(1);
    expect(printed).toEqual({
      event: [...server.events.values()][0],
      listed: [...server.events.keys()],
      rejected: ["body-invalid", "/channel"],
      gone: expect.stringContaining(`from ${gone.url}/api/events (attempt 1): connect ECONNREFUSED`),
      aborted: "enough",
    });
  });
}

test("every entry can be imported and required", async () => {
  const manifest = join(customer.directory, "node_modules/@tidings/client/package.json");
  const { exports } = JSON.parse(await readFile(manifest, "utf8")) as { exports: Record<string, object> };
  const entries = Object.keys(exports).filter((path) => path !== "./package.json");
  expect(entries.length).toBe(7);
  const names = JSON.stringify(entries.map((path) => path.replace(".", "@tidings/client")));
  const report = "console.log(JSON.stringify(names.map((_, index) => Object.keys(entries[index]).sort())));";
  await customer.write(
    "entries.mjs",
    `const names = ${names};\nconst entries = await Promise.all(names.map((name) => import(name)));\n${report}`,
  );
  await customer.write(
    "entries.cjs",
    `const names = ${names};\nconst entries = names.map((name) => require(name));\n${report}`,
  );
  const imported = JSON.parse(await customer.run(["node", "entries.mjs"]));
  expect(imported).toEqual(JSON.parse(await customer.run(["node", "entries.cjs"])));
  expect(imported).not.toContain([]);
});

test("Pino runs the transport in its worker thread, and it sends what is left when the process ends", async () => {
  const options = { baseUrl: app.address, apiKey: app.key, channel: "worker", level: "warn" };
  const program = `const logger = pino({
  base: null, level: "info", transport: { target: "@tidings/client/pino", options: ${JSON.stringify(options)} },
});
logger.info("not sent");
for (let number = 0; number < 30; number++) logger.warn({ number }, "n");`;
  await customer.write("pino.mjs", `import pino from "pino";\n${program}`);
  await customer.write(
    "pino.cjs",
    `const pino = require("pino");\n${program}\nlogger.flush(() => process.exit(0));`,
  );
  await customer.run(["node", "pino.mjs"]);
  await customer.run(["node", "pino.cjs"]);
  const numbers = (await app.list("?channel=worker")).map(({ tags }) => Number(tags.number));
  const expected = Array.from({ length: 60 }, (_, index) => Math.floor(index / 2));
  expect(numbers.sort((a, b) => a - b)).toEqual(expected);
});

test("logs that Pino's worker could not send are reported, although the process is ending", async () => {
  const options = { baseUrl: "http://127.0.0.1:1", apiKey: app.key, retries: 0 };
  const program = `import pino from "pino";
const logger = pino({ transport: { target: "@tidings/client/pino", options: ${JSON.stringify(options)} } });
for (let number = 0; number < 3; number++) logger.warn("n");`;
  await customer.write("pino-down.mjs", program);
  const output = await customer.run(["sh", "-c", "node pino-down.mjs 2>&1"]);
  expect(output).toStartWith(
    "Tidings: 3 logs dropped (undeliverable). TidingsNetworkError: No response from",
  );
});

test("a bundler takes the package, without anything of Node", async () => {
  const page = await customer.write("page.js", 'export { createClient } from "@tidings/client";');
  const built = await Bun.build({ entrypoints: [page], target: "browser" });
  const text = await built.outputs[0]!.text();
  expect(text).toContain("createClient");
  expect(text).not.toContain("node:");
});

const typed = `import { createClient, TidingsError, type Event } from "@tidings/client";
import { reportRequests } from "@tidings/client/express";
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
  reportRequests(strict);
  // @ts-expect-error: an unknown name
  strict.capture({ channel: "c", name: "Payment recieved" });
  return (error: unknown) => (error instanceof TidingsError ? error.errors[0]?.pointer : [event, cursor]);
}
`;

test("the package's types work in strict TypeScript, as ES modules and as CommonJS", async () => {
  for (const extension of ["mts", "cts"]) await customer.write(`typed.${extension}`, typed);
  for (const module of ["nodenext", "preserve"]) {
    const flags = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--target", "es2022"];
    const files = ["typed.mts", "typed.cts"];
    await customer.run([
      "node",
      tsc,
      ...flags,
      "--types",
      "",
      "--lib",
      "es2022,dom",
      "--module",
      module,
      ...files,
    ]);
  }
});

test("publint and arethetypeswrong find nothing wrong with the package", async () => {
  const { messages } = await publint({
    pkgDir: join(customer.directory, "node_modules/@tidings/client"),
    pack: false,
  });
  expect(messages).toEqual([]);
  const bytes = await Bun.file(customer.tarball).bytes();
  const checked = await checkPackage(createPackageFromTarballData(bytes));
  // Subpaths need `exports`, which TypeScript's old resolution doesn't read.
  const problems =
    checked.types &&
    checked.problems.filter((one) => !("resolutionKind" in one && one.resolutionKind === "node10"));
  expect(problems).toEqual([]);
});

test("the examples of the README are correct TypeScript", async () => {
  const examples = await readmeExamples();
  expect(examples.length).toBeGreaterThan(15);
  for (const { name, text } of examples) await customer.write(name, text);
  await customer.write("globals.d.ts", exampleGlobals);
  const flags = ["--strict", "--noEmit", "--skipLibCheck", "--jsx", "react-jsx", "--types", "node"];
  const language = ["--target", "es2022", "--lib", "es2022,esnext.disposable,dom", "--module", "preserve"];
  const files = ["globals.d.ts", ...examples.map(({ name }) => name)];
  await customer.run(["node", tsc, ...flags, ...language, ...files]);
});

test("the examples of the README that send and read run as they are", async () => {
  const endless = /live\(|offline|process\.once|@tidings\/client\/|next\/|npm:|export default/;
  const runnable = (await readmeExamples()).filter(({ text }) => !endless.test(text));
  for (const { name, text } of runnable) {
    const addressed = text.replaceAll("https://tidings.example.com", app.address);
    await customer.write(name, addressed.replaceAll("tdg_sk_…", app.key));
  }
  const imports = runnable.map(({ name }) => `await import("./${name}");`);
  await customer.run([process.execPath, await customer.write("run.ts", imports.join("\n"))]);
  const names = new Set((await app.list("")).map(({ name }) => name));
  for (const name of ["Imported", "Payment received", "Report exported"]) expect(names).toContain(name);
});

test("the package holds its entries, its license, and no sources or tests", async () => {
  const files = (await customer.run(["tar", "-tzf", customer.tarball])).trim().split("\n");
  expect(files).toContain("package/LICENSE");
  expect(
    files.filter((file) => !/^package\/(dist\/|package\.json$|README\.md$|LICENSE$)/.test(file)),
  ).toEqual([]);
  expect(files.filter((file) => /\.test\.|testing/.test(file))).toEqual([]);
});

test("React's server components take the entry for React for client code", async () => {
  for (const extension of ["js", "cjs"]) {
    const file = join(customer.directory, "node_modules/@tidings/client/dist", `react.${extension}`);
    expect(await readFile(file, "utf8")).toStartWith('"use client";');
  }
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiKey, type ContractServer, contractServer } from "./testing/contract-server.ts";

const client = join(import.meta.dir, "..");
const tsc = join(client, "../node_modules/typescript/bin/tsc");

/** A directory with nothing but the installed package. */
let customer: string;
let server: ContractServer;

beforeAll(async () => {
  customer = await mkdtemp(join(tmpdir(), "tidings-client-"));
  const installed = join(customer, "node_modules/@tidings/client");
  await mkdir(installed, { recursive: true });
  await cp(join(client, "package.json"), join(installed, "package.json"));
  await run(["node", tsc, "-p", join(client, "tsconfig.build.json"), "--outDir", join(installed, "dist")]);
  server = contractServer();
}, 60_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(customer, { recursive: true, force: true });
});

async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: customer, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${output}${errors}`);
  return output;
}

const script = `
import { createClient, TidingsError, TidingsNetworkError } from "@tidings/client";
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
`;

test("the built package works under Node, even after a response that breaks off", async () => {
  const file = join(customer, "track.mjs");
  const gone = contractServer();
  await gone[Symbol.asyncDispose]();
  await writeFile(file, script.replace("BASE_URL", server.url).replace("GONE_URL", gone.url));
  server.mishaps.push("broken-response", "silence", { response: new Response("no", { status: 503 }) });
  const printed = JSON.parse(await run(["node", file]));
  expect(server.events.size).toBe(1);
  expect(printed).toEqual({
    event: [...server.events.values()][0],
    listed: [...server.events.keys()],
    rejected: ["body-invalid", "/channel"],
    gone: expect.stringContaining(`from ${gone.url}/api/events (attempt 1): connect ECONNREFUSED`),
    aborted: "enough",
  });
}, 30_000);

test("the built package's types work in strict TypeScript", async () => {
  await writeFile(
    join(customer, "track.ts"),
    `import { createClient, TidingsError, type Event } from "@tidings/client";
const tidings = createClient({ baseUrl: "https://tidings.example.com", apiKey: "tdg_sk_x" });
const event: Event = await tidings.track({ channel: "payments", name: "n", tags: { amount: 42, plan: null } });
const cursor: string | null = (await tidings.list({ limit: 10, from: new Date() })).nextCursor;
// @ts-expect-error: the channel is missing
tidings.track({ name: "n" });
// @ts-expect-error: a misspelt member
tidings.track({ channel: "c", name: "n", icn: "x" });
export const code = (error: unknown) => (error instanceof TidingsError ? error.errors[0]?.pointer : [event, cursor]);
`,
  );
  await writeFile(join(customer, "package.json"), '{ "type": "module" }');
  for (const module of ["nodenext", "preserve"]) {
    const flags = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--target", "es2022"];
    await run(["node", tsc, ...flags, "--lib", "es2022,dom", "--module", module, "track.ts"]);
  }
}, 60_000);

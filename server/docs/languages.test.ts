// @long
/**
 * The first example in each language, where a server fails: it sends its event again, and it is recorded once. What is
 * rejected is said; only curl also ends with an error, because the clients never stop a program.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { docExamples } from "../testing/doc-examples.ts";
import { examplePrograms } from "../testing/example-programs.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const programs: typeof examplePrograms = {
  ...examplePrograms,
  sh: { program: "curl", command: (text) => ["sh", "-c", text] },
};
const examples = docExamples().filter(
  ({ page, language }, index, all) =>
    page === "docs/languages.md" &&
    language in programs &&
    all.findIndex((other) => other.page === page && other.language === language) === index,
);

let app: TestApp;
let directory: string;
let proxy: Server;
/** Requests of the example that runs: their bodies, each with its `Idempotency-Key`. */
const attempts: string[] = [];
/** What the next requests meet; then they reach the server. */
let failures: ("lost response" | "bad gateway" | "unavailable")[] = [];

beforeAll(async () => {
  app = await testApp();
  directory = mkdtempSync(join(tmpdir(), "tidings-languages-"));
  proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    attempts.push(`${request.headers["idempotency-key"] ?? ""} ${body}`);
    const failure = failures.shift();
    if (failure === "bad gateway") return response.writeHead(502).end("<html>Bad gateway</html>");
    if (failure === "unavailable")
      return response.writeHead(503, { "retry-after": "1" }).end('{"detail":"Try again."}');
    const result = await fetch(app.address + request.url, {
      method: "POST",
      headers: Object.fromEntries(
        ["x-api-key", "content-type", "idempotency-key"].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === "string" ? [[name, value]] : [];
        }),
      ),
      body,
    });
    if (failure === "lost response") return request.socket.destroy();
    response.writeHead(result.status, { "content-type": result.headers.get("content-type")! });
    return response.end(await result.text());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  proxy.close();
  rmSync(directory, { recursive: true, force: true });
  await app[Symbol.asyncDispose]();
});

/** Runs an example behind the proxy. */
async function run(language: string, text: string): Promise<{ code: number; output: string }> {
  attempts.length = 0;
  const command = programs[language]!.command(text, directory);
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const env = { ...process.env, TIDINGS_URL: url, TIDINGS_API_KEY: app.key };
  const child = Bun.spawn(command, { cwd: directory, env, stdout: "pipe", stderr: "pipe" });
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: `${out}${errors}` };
}

test("the page has the languages that are tested", () => {
  expect(examples.map(({ language }) => language)).toEqual(["sh", "python", "go", "php", "ruby"]);
});

for (const { language, text } of examples)
  describe.skipIf(!Bun.which(programs[language]!.program))(language, () => {
    const channel = `from-${language}`;
    const example = text.replace(/(["'])(?:payments|backups)\1/, `$1${channel}$1`);

    test("an event that is sent again is recorded once", async () => {
      failures = ["lost response", "bad gateway", "unavailable"];
      const { code, output } = await run(language, example);
      expect({ code, output }).toMatchObject({ code: 0 });
      expect([attempts.length, new Set(attempts).size]).toEqual([4, 1]);
      expect(await app.list(`?channel=${channel}&limit=10`)).toHaveLength(1);
    });

    test("an event that is rejected ends with what to change", async () => {
      failures = [];
      const invalid = example
        .replace(/Payment received|Backup done/, "x".repeat(201))
        .replace("idempotency-key: ", "idempotency-key: invalid-")
        // One retry is as good as four here, and takes a second.
        .replace("--retry 4", "--retry 1");
      const { code, output } = await run(language, invalid);
      expect(code === 0).toBe(language !== "sh");
      expect(output.replaceAll("\\", "")).toContain('"name" must have at most 200 characters');
      // curl retries after any error, since it can't tell them apart.
      if (language !== "sh") expect(attempts).toHaveLength(1);
    });
  });

/**
 * The examples of the documentation: each block of code is run or checked, unless a comment before it says why not
 * (`<!-- not run: REASON -->`). JSON names its schema (`<!-- schema: NAME -->`).
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scripts } from "../../package.json" with { type: "json" };
import { describeCommand, runnable } from "../commands/describe-command.ts";
import { commandLine } from "../commands/index.ts";
import { inspectConfig } from "../config/config.ts";
import { settings } from "../config/settings.ts";
import { parseSearch } from "../event/search.ts";
import { readContract } from "../testing/contract.ts";
import { docExamples, type Example, tableCodes } from "../testing/doc-examples.ts";
import { examplePrograms } from "../testing/example-programs.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

/** Pages whose examples other tests run. */
const elsewhere = /^docs\/moving-from\//; // drop-in/docs.test.ts
const examples = docExamples().filter(
  ({ page, note }) => !elsewhere.test(page) && !/^not run: \w/.test(note ?? ""),
);
const client = join(import.meta.dir, "../../client/src/index.ts");
const metricsToken = "a token of the metrics";

let app: TestApp;
let directory: string;
let environment: Record<string, string>;
/** Checks a value against a schema of the API description. */
let faultsOf: (name: string, value: unknown) => unknown[];

beforeAll(async () => {
  app = await testApp({ metricsToken });
  directory = mkdtempSync(join(tmpdir(), "tidings-examples-"));
  writeFileSync(join(directory, "events.ndjson"), '{"channel":"imports","name":"Imported"}\n');
  ({ partFaults: faultsOf } = await readContract(app));
  const cookie = await app.signIn();
  const mapping = { name: "Order {{id}}", userId: "{{customer.id}}", id: "{{id}}" };
  const hook = await app.request("/api/webhooks?project=default", {
    method: "POST",
    headers: { cookie, origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "Shop", source: "plain", channel: "orders", mapping }),
  });
  const { url } = (await hook.json()) as { url: string };
  await app.request("/api/projects", {
    method: "POST",
    headers: { cookie, origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "Shop" }),
  });
  environment = {
    TIDINGS_API_KEY: app.key,
    TIDINGS_URL: app.address,
    SESSION: /tidings\.session_token=([^;]+)/.exec(cookie)![1]!,
    TOKEN: url.split("/").at(-1)!,
  };
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await app[Symbol.asyncDispose]();
});

/** Runs a command that must succeed, and returns its output. */
async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ code, output, errors }).toMatchObject({ code: 0 });
  return output;
}

/** A live stream, which would never end, is left after a second. */
const curl = `curl() {
  case " $* " in
    *" -N "*) command curl -sS --max-time 1 "$@" || [ $? -eq 28 ] ;;
    *) command curl -sS "$@" ;;
  esac
}`;

/** Programs that examples may run. */
const programs = /^(?:curl|gzip|openssl|printf|echo|[^\w]|[a-z-]+:)/;

function runShell({ text }: Example): Promise<string> {
  for (const line of text.replaceAll("\\\n", " ").split("\n"))
    if (!programs.test(`${line.trim()} `))
      throw new Error(`Say why it isn't run: <!-- not run: REASON -->. ${line}`);
  const script = text
    .replaceAll("http://localhost:4242", app.address)
    .replaceAll("https://tidings.example.com", app.address);
  return run(["bash", "-ec", `${curl}\n${script}`]);
}

const assignment = /^([A-Z][A-Z0-9_]*)=/;
const isCommand = (line: string) => /(?:^|\||\()\s*(?:[A-Z_]+=\S+ )*(?:npx )?tidings /.test(line);

/** Checks the names of commands and options: the tests of each command run it. */
const commands = [...runnable(await describeCommand(commandLine))];

function checkCommands({ text }: Example): void {
  for (const line of text.split("\n").filter((each) => each.trim() !== "" && !each.startsWith("export "))) {
    const words = /(?:^|\||\()\s*(?:[A-Z_]+=\S+ )*(?:npx )?(tidings (?:'[^']*'|[^|>)#'])*)/
      .exec(line)?.[1]
      ?.match(/'[^']*'|"[^"]*"|\S+/g);
    if (!words) throw new Error(`Not a command: ${line}`);
    const path = words.slice(1).filter((word) => /^[a-z][\w-]*$/.test(word));
    const command = commands.find(({ path: own }) => own.every((name, index) => path[index] === name));
    expect([line, command?.path.join(" ")]).toEqual([line, expect.any(String)]);
    const names = command!.options.flatMap(({ name, aliases }) => [
      `--${name}`,
      ...aliases.map((each) => `-${each}`),
    ]);
    const common = ["--help", "--json", "--url"];
    for (const word of words.filter((each) => /^--?[a-z]/.test(each)))
      expect([line, [...names, ...common]]).toEqual([line, expect.arrayContaining([word])]);
    const q = words[words.indexOf("--q") + 1]!;
    if (words.includes("--q")) parseSearch(q.replace(/^'(.*)'$/, "$1"));
  }
}

/** Checks that scripts of the package exist. */
function checkScripts({ text }: Example): void {
  for (const [, script] of text.matchAll(/npm (?:run )?([\w:]+)/g))
    expect(Object.keys(scripts)).toContain(script!);
}

function checkSettings({ text }: Example): void {
  const variables = Object.values(settings).map(({ variable }) => variable);
  const values = text.split("\n").map((line) => line.split("=", 2) as [string, string]);
  for (const [variable] of values) expect(variables).toContain(variable.replace(/_FILE$/, ""));
}

function checkSettingsFile({ text }: Example): void {
  const file = join(directory, "tidings.toml");
  writeFileSync(file, text);
  expect(inspectConfig({ TIDINGS_CONFIG: file }).mistakes).toEqual([]);
  rmSync(file);
}

async function checkYaml({ text }: Example): Promise<void> {
  expect(Bun.YAML.parse(text)).toBeObject();
  const names = text.match(/tidings_\w+/g) ?? [];
  const headers = { authorization: `Bearer ${metricsToken}` };
  const metrics = await (await fetch(`${app.address}/metrics`, { headers })).text();
  for (const name of names) expect(metrics).toContain(`# TYPE ${name} `);
}

function checkJson({ text, note }: Example): void {
  const schema = /^schema: (\w+)$/.exec(note ?? "")?.[1];
  if (!schema)
    throw new Error("Say the schema before it: <!-- schema: NAME -->, a name of docs/openapi.json.");
  expect(faultsOf(schema, JSON.parse(text))).toEqual([]);
}

async function check(example: Example): Promise<unknown> {
  const { language, text } = example;
  switch (language) {
    case "sh": {
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      if (lines.every((line) => assignment.test(line) && !line.includes(" tidings ")))
        return checkSettings(example);
      if (lines.every((line) => /(?:^| )npm /.test(line))) return checkScripts(example);
      if (lines.some(isCommand)) return checkCommands(example);
      return runShell(example);
    }
    case "json":
      return checkJson(example);
    case "ts":
    case "js":
      return run([
        process.execPath,
        "-e",
        text
          .replaceAll("http://localhost:4242", app.address)
          .replace('"@tidings/client"', JSON.stringify(client)),
      ]);
    case "go":
    case "php":
    case "python":
    case "ruby":
      return run(examplePrograms[language]!.command(text, directory));
    case "toml":
      return checkSettingsFile(example);
    case "yaml":
      return checkYaml(example);
    default:
      throw new Error(`Run it here, or say why not: <!-- not run: REASON -->.`);
  }
}

describe("each example is run or checked", () => {
  for (const example of examples) {
    const { place, language } = example;
    const program = language === "sh" ? "curl" : examplePrograms[language]?.program;
    test.skipIf(program !== undefined && !Bun.which(program))(`${place} (${language})`, () => check(example));
  }
});

test("a curl command fails if its request does, and retries only what is recorded once", () => {
  const all = docExamples().flatMap(({ place, text }) =>
    text
      .replaceAll("\\\n", " ")
      .split("\n")
      .filter((line) => /(?:^|\| )curl /.test(line))
      .map((line) => `${place}: ${line}`),
  );
  // A ping may come twice, and cron mails what curl prints.
  const isPing = (line: string) => /\/ping\/|\$PING_URL/.test(line);
  expect(all.filter((line) => isPing(line) && !line.includes(" -fsS -m 10 --retry 5 "))).toEqual([]);
  // A shell would run the body of an error.
  const isScript = (line: string) => /\| (?:sudo )?sh\b/.test(line);
  expect(all.filter((line) => isScript(line) && !line.includes(" -fsSL "))).toEqual([]);
  const lines = all.filter((line) => !isPing(line) && !isScript(line));
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.filter((line) => !line.includes(" --fail-with-body "))).toEqual([]);
  const retried = lines.filter((line) => line.includes(" --retry"));
  expect(retried.filter((line) => !line.includes(" --retry-all-errors "))).toEqual([]);
  // With an id, or a key that stands for one.
  expect(retried.filter((line) => !/idempotency-key: |ce-id: |"id":/.test(line))).toEqual([]);
});

test("the numbers of the example from sign-up to churn are those of its requests", async () => {
  const blocks = examples.filter(({ page }) => page === "docs/from-sign-up-to-churn.md");
  const answers = blocks.filter(({ language }) => language === "json");
  expect(answers).toHaveLength(2);
  for (const answer of answers) {
    const request = blocks[blocks.indexOf(answer) - 1]!;
    expect([request.place, JSON.parse(await runShell(request))]).toEqual([
      request.place,
      JSON.parse(answer.text),
    ]);
  }
  const quiet = await app.list(`?q=${encodeURIComponent('cohort:"Good customers" name:"Pricing viewed"')}`);
  expect(quiet.map(({ userId }) => userId)).toEqual(["visitor-31"]);
});

test("the API key has one name", () => {
  const others = docExamples().filter(({ text }) => /\$\{?(?:KEY|API_KEY|TIDINGS_KEY)\b/.test(text));
  expect(others.map(({ place }) => place)).toEqual([]);
});

test("the events that they send are stored", async () => {
  const names = new Set((await app.list()).map(({ name }) => name));
  for (const name of ["User signed up", "First paying user", "Payment received"])
    expect(names).toContain(name);
});

test("searches in the documentation are valid", () => {
  const searches = tableCodes("docs/search.md");
  expect(searches.length).toBeGreaterThan(10);
  for (const search of searches) expect(parseSearch(search)).not.toBeNull();
});

/** The examples of sending an event: each runs where its language is installed, and the page notices its event. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { sendExamples } from "../../dashboard/setup/send-examples.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

/** What is special in one of the languages. */
const hostile = `it's "$HOME" \`id\` #{1} \${2} \\n {$x} %s 💰`;

const directory = mkdtempSync(join(tmpdir(), "tidings-examples-"));
const script = (name: string, code: string) => {
  const file = join(directory, name);
  writeFileSync(file, code);
  return file;
};

/** How to run each example. */
const runs: Record<string, { program: string; command: (code: string) => string[] }> = {
  curl: { program: "curl", command: (code) => ["sh", "-c", code.replace("curl ", "curl -sS ")] },
  javascript: { program: "node", command: (code) => ["node", script("send.mjs", code)] },
  python: { program: "python3", command: (code) => ["python3", script("example.py", code)] },
  go: { program: "go", command: (code) => ["go", "run", script("main.go", code)] },
  php: { program: "php", command: (code) => ["php", script("example.php", code)] },
  ruby: { program: "ruby", command: (code) => ["ruby", script("example.rb", code)] },
};

let dashboard: TestDashboard;
let page: Page;
beforeAll(async () => {
  dashboard = await openDashboard();
  page = await dashboard.open("/p/default/keys");
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function run(id: string, code: string): Promise<string> {
  const process = Bun.spawn(runs[id]!.command(code), { stdout: "pipe", stderr: "pipe" });
  const [out, error] = await Promise.all([
    new Response(process.stdout).text(),
    new Response(process.stderr).text(),
  ]);
  return `${out}${error}`;
}

describe("an example records its event, whatever the channel's name", () => {
  for (const { id, label } of sendExamples({ key: "", origin: "" })) {
    const { program } = runs[id]!;
    test.skipIf(!Bun.which(program))(`${label} (skipped without ${program})`, async () => {
      const channel = `${hostile} ${id}`;
      const { code } = sendExamples({ key: dashboard.key, origin: dashboard.address, channel }).find(
        (example) => example.id === id,
      )!;
      const output = await run(id, code);
      const response = await fetch(
        `${dashboard.address}/api/events?${new URLSearchParams({ channel, limit: "2" })}`,
        { headers: { "x-api-key": dashboard.key } },
      );
      const { events } = (await response.json()) as { events: object[] };
      expect({ output, events }).toMatchObject({
        events: [
          {
            channelId: channel,
            name: "Payment received",
            userId: "u1",
            icon: "💰",
            notify: true,
            tags: { plan: "pro" },
          },
        ],
      });
    });
  }
});

test("a new key comes with examples to copy, and the dialog notices the first event", async () => {
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Examples");
  await page.getByRole("button", { name: "Create" }).click();
  const dialog = page.getByRole("dialog");
  const secret = (await dialog.locator("[data-secret]").textContent())!;
  await dialog.getByRole("tab", { name: "curl" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const panel = dialog.getByRole("tabpanel", { name: "Python" });
  await panel.getByText("urllib.request.Request").waitFor();
  const { code } = sendExamples({ key: secret, origin: dashboard.address }).find(
    ({ id }) => id === "python",
  )!;
  expect(await panel.locator("pre").textContent()).toBe(code);
  await expectAccessible("the examples", page);
  await dialog.getByText("Waiting for an event…").waitFor();
  await dashboard.post({ channel: "payments", name: "The very first" });
  await dialog.getByText("The very first").waitFor();
  await dialog.getByText("Received", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  // The language is remembered, also where a channel has no events yet.
  const created = await page.request.post(`${dashboard.address}/api/channels?project=default`, {
    data: { name: "not-yet" },
    headers: { origin: dashboard.address },
  });
  expect(created.status()).toBe(201);
  await page.goto(`${dashboard.address}/p/default/channels/not-yet`);
  await page.getByRole("tab", { name: "Python", selected: true }).waitFor();
  await page.getByText('"channel": "not-yet"').waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible("an empty channel in the dark", page);
});

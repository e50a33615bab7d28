// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { docExamples } from "../testing/doc-examples.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilListed } from "../testing/until.ts";

const docs = join(import.meta.dir, "../../docs/moving-from");
const examples = docExamples();
const server = join(import.meta.dir, "..");
/** Names of the events that the examples of each page send. */
const sent: Record<string, string[]> = {
  "cloudevents.md": ["order.completed", "order.shipped"],
  "logsnag.md": ["New Subscription", "Users"],
  "opentelemetry.md": ["order.completed"],
  "posthog.md": ["user signed up"],
  "segment.md": ["Order Completed", "Order Shipped"],
  "slack.md": ["Backup finished", "Deployed *v1.2* to production"],
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const pages = readdirSync(docs).filter((page) => page.endsWith(".md"));

test("every page has its events here", () => {
  expect(pages.toSorted()).toEqual(Object.keys(sent));
});

describe("the examples run as they are", () => {
  for (const page of pages) {
    test(page, async () => {
      const blocks = examples.filter((example) => example.page === `docs/moving-from/${page}`);
      expect(blocks.length).toBeGreaterThan(0);
      const before = new Set((await app.list()).map(({ id }) => id));
      for (const { language, text, note } of blocks) {
        if (note?.startsWith("not run: ")) continue;
        const command = language === "js" ? [process.execPath, "-e", text] : ["sh", "-c", text];
        const run = Bun.spawn(command, {
          cwd: server,
          env: { ...process.env, TIDINGS_URL: app.address, TIDINGS_API_KEY: app.key },
          stdout: "ignore",
          stderr: "pipe",
        });
        const errors = await new Response(run.stderr).text();
        expect(`${await run.exited} ${errors.replace(/^\s*%[\s\S]*$/m, "")}`).toStartWith("0 ");
      }
      const events = (await untilListed(app, before.size + sent[page]!.length)).filter(
        ({ id }) => !before.has(id),
      );
      expect(events.map(({ name }) => name).toSorted()).toEqual(sent[page]!);
    });
  }
});

/** API keys in the dashboard, and publishable keys in pages of other sites. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { chooseAction, expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;
beforeAll(async () => {
  dashboard = await openDashboard();
  page = await dashboard.open("/p/default/keys");
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const dialog = () => page.getByRole("dialog");
const row = (text: string) => page.getByRole("row").filter({ hasText: text });
const press = (within: Locator | Page, name: string) => within.getByRole("button", { name }).click();

async function shownSecret(): Promise<string> {
  await press(dialog(), "Copy key");
  return (await dialog().locator("[data-secret]").textContent())!;
}

async function statusOf(secret: string, method = "GET"): Promise<number> {
  const response = await fetch(`${dashboard.address}/api/events`, {
    method,
    headers: { "x-api-key": secret, "content-type": "application/json" },
    ...(method === "POST" && { body: '{"channel":"keys","name":"Tried"}' }),
  });
  await response.text();
  return response.status;
}

async function createKey(name: string, choose: () => Promise<void> = async () => {}): Promise<string> {
  await page.getByRole("button", { name: "New API key" }).first().click();
  await dialog().getByLabel("Name").fill(name);
  await choose();
  await press(dialog(), "Create key");
  const secret = await shownSecret();
  await press(dialog(), "Done");
  await row(name).waitFor();
  return secret;
}

test("a key gets the chosen scopes, expiry and rate limit, and shows them", async () => {
  const secret = await createKey("Reader", async () => {
    await expectAccessible("a new key", page);
    await dialog().getByRole("checkbox", { name: "Send" }).uncheck();
    await dialog().getByLabel("Expires").selectOption("90");
    await dialog().getByLabel("Events a second").fill("1200");
  });
  expect([await statusOf(secret), await statusOf(secret, "POST")]).toEqual([200, 403]);
  const text = (await row("Reader").textContent())!;
  expect(text).toContain("Read1,200 events a second");
  expect(text).not.toContain("Never expires");
  await expectAccessible("the keys", page);
});

longTest("a key is changed in place", async () => {
  const secret = await createKey("Writer");
  await chooseAction(page, "Writer", "Edit…");
  await expectAccessible("a key's settings", page);
  await dialog().getByLabel("Name").fill("Importer");
  await dialog().getByRole("checkbox", { name: "Read" }).uncheck();
  await press(dialog(), "Save");
  await row("Importer").getByText("Send", { exact: true }).waitFor();
  expect([await statusOf(secret), await statusOf(secret, "POST")]).toEqual([403, 201]);
});

longTest("a key is rotated by keyboard, and both work until the overlap ends", async () => {
  const old = await createKey("Rotor");
  await page.getByRole("button", { name: "Actions for Rotor" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Edit…" }).and(page.locator(":focus")).waitFor();
  // By its first letter.
  await page.keyboard.press("r");
  await page.getByRole("menuitem", { name: "Rotate…" }).and(page.locator(":focus")).waitFor();
  await expectAccessible("the menu of a row", page);
  await page.keyboard.press("Enter");
  await dialog().getByLabel("The old key").waitFor();
  await expectAccessible("a rotation", page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const secret = await shownSecret();
  await dialog()
    .getByText(/The old key works until/)
    .waitFor();
  await press(dialog(), "Done");
  expect(secret).not.toBe(old);
  expect([await statusOf(old), await statusOf(secret)]).toEqual([200, 200]);
  const rotated = row("Rotor").filter({ hasText: "Rotated, works until" });
  await rotated.waitFor();
  await press(rotated, "Actions for Rotor");
  // What ends something is last.
  expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Edit…", "Revoke…"]);
  await page.getByRole("menuitem", { name: "Revoke…" }).click();
  await press(dialog(), "Revoke");
  await row("Rotor").filter({ hasText: "Revoked" }).waitFor();
  expect([await statusOf(old), await statusOf(secret)]).toEqual([401, 200]);
});

longTest("an invalid origin is named", async () => {
  await page.getByRole("button", { name: "New API key" }).first().click();
  await dialog().getByLabel("Name").fill("Wrong");
  await dialog().getByRole("radio", { name: "Publishable" }).check();
  await dialog().getByLabel("Pages that may use it").fill("https://a.example/\nb.example");
  await press(dialog(), "Create key");
  await dialog().getByText('"b.example" must be an origin').waitFor();
  await expectAccessible("an invalid origin", page);
  await press(dialog(), "Cancel");
});

describe("a publishable key in a page of another site", () => {
  /** A site with empty pages. */
  const site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response("<!doctype html><title>Shop</title>", { headers: { "content-type": "text/html" } }),
  });
  afterAll(() => site.stop(true));
  const origin = `http://127.0.0.1:${site.port}`;
  const otherOrigin = `http://localhost:${site.port}`;
  let secret: string;

  beforeAll(async () => {
    secret = await createKey("Website", async () => {
      await dialog().getByRole("radio", { name: "Publishable" }).check();
      await dialog().getByLabel("Pages that may use it").fill(`${origin}\nhttps://*.example.com`);
    });
    await row("Website").getByText(`from ${origin} and 1 more`).waitFor();
  });

  const listed = async (channel: string) => {
    const response = await fetch(`${dashboard.address}/api/events?channel=${channel}`, {
      headers: { "x-api-key": dashboard.key },
    });
    return ((await response.json()) as { events: unknown[] }).events.length;
  };
  /** JavaScript that sends an event as the dashboard suggests. */
  const send = (channel: string) => `fetch("${dashboard.address}/api/events", {
    method: "POST",
    keepalive: true,
    headers: { "x-api-key": "${secret}", "content-type": "application/json" },
    body: JSON.stringify({ channel: "${channel}", name: "Page viewed" }),
  })`;
  const visit = async (url: string) => {
    const shop = await (await dashboard.browser.newContext()).newPage();
    await shop.goto(url);
    return shop;
  };

  test("sends events, also while the page is being closed, and reads the rate limit", async () => {
    const shop = await visit(origin);
    const answer = await shop.evaluate(`${send("open")}.then(async (response) => ({
      status: response.status,
      limit: response.headers.get("ratelimit"),
      policy: response.headers.get("ratelimit-policy"),
    }))`);
    expect(answer).toEqual({
      status: 201,
      limit: expect.stringMatching(/^"events";r=499;t=\d+$/),
      policy: '"events";q=500;w=10',
    });
    await shop.evaluate(`addEventListener("pagehide", () => { ${send("closed")} })`);
    await shop.close({ runBeforeUnload: true });
    await until(async () => (await listed("closed")) === 1);
  });

  test("sends nothing from an origin that the key doesn't allow, and tells the page why", async () => {
    const shop = await visit(otherOrigin);
    const problem = await shop.evaluate(`${send("forbidden")}.then((response) => response.json())`);
    expect(problem).toMatchObject({
      status: 403,
      type: "/problems/key-origin-forbidden",
      detail: expect.stringContaining(otherOrigin),
    });
    expect(await listed("forbidden")).toBe(0);
    await shop.context().close();
  });
});

longTest("the page says what to change in clients of other services", async () => {
  const sdks = page.getByRole("region", { name: "Use an existing SDK" });
  await sdks.waitFor();
  expect(await sdks.textContent()).toContain(
    `${dashboard.address}/slack/YOUR_API_KEY as the webhook's address`,
  );
});

// @long
/** Dialogs: where the focus is and goes, and what a click outside does. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../testing/until.ts";
import { chooseAction } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post({ channel: "payments", name: "Payment received" });
  page = await dashboard.open("/p/default/channels/payments");
  await page.getByRole("article").first().waitFor();
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const dialog = () => page.getByRole("dialog");
const focused = (): Promise<string> =>
  page.evaluate(`(() => {
    const { tagName, textContent, id, labels, ariaLabel } = document.activeElement;
    return labels?.[0]?.textContent ?? ariaLabel ?? (textContent.slice(0, 40) || id || tagName);
  })()`);

/** Dialogs move the focus slightly after they open or close. */
const untilFocused = (what: string) => until(async () => (await focused()) === what);

async function pressEscape() {
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
}

test.each([
  ["New channel", "Name", () => page.getByRole("button", { name: "New channel" }).first()],
  ["Edit channel", "Icon", () => page.getByRole("button", { name: "Edit channel" })],
] as const)("%s focuses its first field, and gives the focus back", async (title, field, opener) => {
  await opener().click();
  await page.getByRole("dialog", { name: title }).waitFor();
  await untilFocused(field);
  await pressEscape();
  await untilFocused(title);
});

test("the palette and the help return the focus", async () => {
  await page.getByRole("article").first().focus();
  const before = await focused();
  await page.keyboard.press("Control+k");
  await dialog().waitFor();
  await pressEscape();
  await untilFocused(before);
  await page.keyboard.press("?");
  await dialog().waitFor();
  await pressEscape();
  await untilFocused(before);
});

test("a dialog opened from the palette returns the focus to where it was before the palette", async () => {
  await page.getByRole("article").first().focus();
  const before = await focused();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "New channel" }).click();
  await page.getByRole("dialog", { name: "New channel" }).waitFor();
  await untilFocused("Name");
  await pressEscape();
  await untilFocused(before);
});

test("a click outside keeps what was typed", async () => {
  await page.getByRole("button", { name: "New channel" }).first().click();
  await dialog().getByLabel("Name").fill("half-typed");
  await page.mouse.click(5, 5);
  await page.mouse.click(1_400, 880);
  expect(await dialog().getByLabel("Name").inputValue()).toBe("half-typed");
  await pressEscape();
});

test("a click outside keeps a new key open", async () => {
  await page.goto(`${dashboard.address}/p/default/keys`);
  await page.locator("main").getByRole("button", { name: /^New/ }).first().click();
  await dialog().getByLabel("Name").waitFor();
  await untilFocused("Name");
  await dialog().getByLabel("Name").fill("Till");
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = dialog().getByText(/^tdg_sk_/);
  await secret.waitFor();
  await page.mouse.click(5, 5);
  expect(await secret.count()).toBe(1);
  await page.getByRole("button", { name: "Done" }).click();
  await dialog().waitFor({ state: "detached" });
  await untilFocused("New API key");
});

test("a confirmation focuses the button that does nothing", async () => {
  await chooseAction(page, "Till", "Revoke…");
  await dialog().waitFor();
  await untilFocused("Cancel");
  await pressEscape();
  await untilFocused("Actions for Till");
});

test("the text typed to fix a rejected event is kept, and each fault is shown once", async () => {
  const response = await fetch(`${dashboard.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: JSON.stringify({ channel: "payments", name: "", colour: "red", tags: { amount: 12 } }),
  });
  expect(response.status).toBe(422);
  const { errors } = (await response.json()) as { errors: { detail: string }[] };
  expect(errors).toHaveLength(3);
  await page.goto(`${dashboard.address}/p/default/rejected`);
  const fix = page.getByRole("button", { name: "Fix and resend", exact: true });
  await fix.click();
  const shown = async () => {
    const text = (await dialog().textContent())!;
    return errors.map(({ detail }) => text.split(detail).length - 1);
  };
  expect(await shown()).toEqual([1, 1, 1]);
  await dialog().getByRole("button", { name: "Resend" }).click();
  await until(() => page.evaluate("!document.querySelector('[role=dialog] button[disabled]')"));
  expect(await shown()).toEqual([1, 1, 1]);
  const body = dialog().getByLabel("Event (JSON)");
  const fixed = (await body.inputValue()).replace("12", '"12"');
  await body.fill(fixed);
  await page.mouse.click(5, 5);
  expect(await body.inputValue()).toBe(fixed);
  await pressEscape();
  await fix.click();
  expect(await body.inputValue()).toBe(fixed);
  await pressEscape();
});

test("the page does not scroll under an open dialog", async () => {
  const overflow = () => page.evaluate("getComputedStyle(document.body).overflow");
  expect(await overflow()).not.toBe("hidden");
  await page.getByRole("button", { name: "New channel" }).first().click();
  await dialog().waitFor();
  await until(async () => (await overflow()) === "hidden");
  await pressEscape();
  await until(async () => (await overflow()) !== "hidden");
});

test("the page turns no text into HTML or a script, and runs no worker of another server", async () => {
  const attempts = [
    'document.body.innerHTML = "<b>x</b>"',
    'document.createElement("script").text = "1"',
    'document.createElement("script").src = "https://evil.example/x.js"',
    'new Worker("https://evil.example/x.js")',
    'new DOMParser().parseFromString("<b>x</b>", "text/html")',
    'trustedTypes.createPolicy("another", {})',
  ];
  for (const attempt of attempts) {
    const outcome = await page.evaluate(
      `(() => { try { ${attempt}; return "done" } catch ({ name }) { return name } })()`,
    );
    expect([attempt, outcome]).toEqual([attempt, "TypeError"]);
  }
});

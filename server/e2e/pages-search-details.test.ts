// @long
/** What can be done while a search is typed, and in the palette. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post([
    { channel: "payments", name: "Payment received", userId: "cus_1", tags: { plan: "pro" } },
    { channel: "payments", name: "Payment failed", userId: "cus_2", tags: { plan: "free" } },
    { channel: "payments", name: "Payment failed", userId: "cus_3", tags: { plan: "pro" } },
    { channel: "logins", name: "Signed in", userId: "cus_3", tags: { plan: "pro" } },
    { channel: "logins", name: "Fail over", tags: { reason: "card declined" } },
  ]);
  page = await dashboard.open("/p/default");
  await article("Signed in").waitFor();
}, 60_000);

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const article = (text: string, on = page) => on.getByRole("article").filter({ hasText: text });
const box = (on = page) => on.getByRole("combobox", { name: "Search and filter" });
const option = (name: string | RegExp) => page.getByRole("option", { name });
const selected = (name: string | RegExp) => page.getByRole("option", { name, selected: true }).waitFor();
const matches = (text: string, on = page) => on.getByText(text, { exact: true }).waitFor();
const palette = () => page.getByRole("dialog", { name: "Search and commands" });

async function startOver(path = "/p/default"): Promise<void> {
  await page.goto(dashboard.address + path);
  await article("Payment received").waitFor();
}

async function openPalette(text = ""): Promise<void> {
  await page.keyboard.press("Control+k");
  await palette().waitFor();
  await page.keyboard.insertText(text);
}

test("the last word is a prefix until a space, a quote or a value ends it", async () => {
  await startOver();
  await box().pressSequentially("fail");
  await matches("3 matches");
  await box().press("Space");
  await matches("1 match");
  await article("Fail over").waitFor();
  await box().fill('"payment fa');
  await matches("2 matches");
  await box().fill("-fail");
  await matches("2 matches");
  // A value that isn't finished doesn't count yet; the word before it is finished.
  await box().fill("-fail plan=fr");
  await page.waitForURL("**typed=-fail+plan%3Dfr");
  await matches("4 matches");
  await box().fill("plan=free ");
  await matches("1 match");
  await page.getByRole("button", { name: "Clear the search field" }).click();
  await article("Signed in").waitFor();
  expect(await box().inputValue()).toBe("");
  expect(page.url()).toEndWith("/p/default");
}, 60_000);

test("a suggestion that is chosen is shown at once, and completes inside texts", async () => {
  await startOver();
  await box().pressSequentially("declin");
  await option(/^reason="card declined"/).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await until(async () => (await box().inputValue()) === 'reason="card declined" ');
  await matches("1 match");
  await article("Fail over").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/p/default?tag.reason=card+declined");
}, 60_000);

test("Escape closes the suggestions, also right after one was chosen with the mouse", async () => {
  await startOver();
  await box().pressSequentially("declin");
  await option(/^reason="card declined"/).click();
  await until(async () => (await box().inputValue()) === 'reason="card declined" ');
  await page.getByRole("listbox").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("listbox").waitFor({ state: "detached" });
  await box().press("Backspace");
  await page.getByRole("listbox").waitFor();
}, 60_000);

test("links, Back, Reload and events keep what is typed", async () => {
  await startOver();
  await box().pressSequentially("pay");
  await page.waitForURL("**/p/default?typed=pay");
  await matches("3 matches");
  const other = await page.context().newPage();
  await other.goto(page.url());
  await matches("3 matches", other);
  expect(await box(other).inputValue()).toBe("pay");
  await other.close();
  await page.goBack();
  await article("Signed in").waitFor();
  expect(await box().inputValue()).toBe("");
  await page.goForward();
  await matches("3 matches");
  expect(await box().inputValue()).toBe("pay");
  // What is opened from the results has them beside it.
  await article("Payment received").getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: "Payment received" }).waitFor();
  expect(new URL(page.url()).search).toBe("?q=pay*");
  expect(await box().inputValue()).toBe("");
  await page.getByRole("button", { name: /^Remove filter: search pay/ }).waitFor();
}, 60_000);

test("chips, a saved view and a channel's page go with what is typed", async () => {
  await startOver("/p/default/channels/payments?tag.plan=pro");
  await box().pressSequentially("received");
  await matches("1 match");
  await page.getByRole("button", { name: "Remove filter: plan pro" }).click();
  await page.waitForURL("**/channels/payments?typed=received");
  expect(await box().inputValue()).toBe("received");
  await page.getByRole("button", { name: "Save view" }).click();
  await page.getByRole("dialog", { name: "Save view" }).getByLabel("Name").fill("Received");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Received" }).waitFor();
  await page.getByRole("link", { name: /^Received/ }).click();
  await page.waitForURL("**/p/default?channel=payments&q=received*");
  await matches("1 match");
  await box().fill("xyzzy");
  await page.getByRole("button", { name: "Without xyzzy* 1 event" }).click();
  await page.waitForURL("**/channels/payments?q=received*");
  expect(await box().inputValue()).toBe("");
}, 60_000);

test("a search that isn't valid says so at Enter, not while it is typed", async () => {
  await startOver();
  await box().pressSequentially("payment (fail");
  await matches("3 matches");
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("is not closed").waitFor();
  await page.getByRole("button", { name: /^Search for/ }).click();
  await page.waitForURL("**/p/default?q=payment+fail");
  // None has the whole words.
  await page.getByRole("heading", { name: "No matching events" }).waitFor();
}, 60_000);

test("on a phone, in the dark", async () => {
  const phone = await dashboard.open("/p/default/channels/paymnts", {
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
  });
  await phone.getByRole("heading", { name: "There is no channel “paymnts”" }).waitFor();
  await phone.getByRole("button", { name: "channel:payments 3 events" }).waitFor();
  await expectAccessible("an unknown channel on a phone", phone);
  await phone.getByRole("button", { name: "channel:payments 3 events" }).click();
  await box(phone).fill("fail");
  await matches("2 matches", phone);
  await expectAccessible("a search on a phone", phone);
  await phone.context().close();
}, 60_000);

test("a channel without events, which exists, says how to send some", async () => {
  await fetch(`${dashboard.address}/api/channels`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: '{"name":"refunds"}',
  });
  await page.goto(`${dashboard.address}/p/default/channels/refunds`);
  await page.getByRole("heading", { name: "No events in this channel yet" }).waitFor();
}, 60_000);

test("the palette finds events, users and actions", async () => {
  const user = { method: "PUT", headers: { "content-type": "application/json", "x-api-key": dashboard.key } };
  await fetch(`${dashboard.address}/api/users/cus_2`, { ...user, body: '{"name":"Freya Lind"}' });
  await startOver();

  await openPalette("freya");
  await selected("Freya Lind cus_2");
  await option("Search events for “freya”").waitFor();
  await expectAccessible("the palette", page);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/p/default/users/cus_2");

  await openPalette("cus_3");
  await selected(/^cus_3/);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/p/default/users/cus_3");

  await openPalette("fail");
  await option("Payment failed 2").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/p/default?q=fail*");

  const { id } = await dashboard.post({ channel: "logins", name: "Password changed" });
  await openPalette(id.toUpperCase());
  await selected("Password changed Event in logins");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/p/default/events/${id}`);

  // What was chosen comes first.
  await openPalette();
  await selected("Password changed Event in logins");
  expect((await page.getByRole("option").allTextContents()).slice(0, 4)).toEqual([
    "Password changed Event in logins",
    "Search events for “fail”",
    "cus_3",
    "Freya Lind cus_2",
  ]);
  await page.keyboard.insertText("invi");
  await selected("Invite a member");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Invite to this project" }).waitFor();
  expect(page.url()).toEndWith("/p/default/members");
  await page.keyboard.press("Escape");
}, 60_000);

test("the palette opens dialogs, and mutes", async () => {
  for (const [words, title, path] of [
    ["new board", "New board", ""],
    ["new rule", "New rule", "/rules"],
    ["api key", "New API key", "/keys"],
    ["new webhook", "New webhook", "/webhooks"],
    ["add destination", "Add a destination", "/destinations"],
  ] as const) {
    await startOver();
    await openPalette(words);
    // "API keys" is a page.
    if (words === "api key") await page.keyboard.press("ArrowDown");
    await selected(/^New/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: title }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/p/default${path}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await openPalette("mute");
  await page.keyboard.press("Enter");
  await page.getByPlaceholder("Which channel?").waitFor();
  await page.keyboard.insertText("pay");
  await selected("payments");
  await page.keyboard.press("Enter");
  await page.getByPlaceholder("For how long?").waitFor();
  await expectAccessible("muting in the palette", page);
  await page.keyboard.press("Backspace");
  await page.getByPlaceholder("Which channel?").waitFor();
  await page.keyboard.insertText("pay");
  await page.keyboard.press("Enter");
  await selected("30 minutes");
  await page.keyboard.press("Enter");
  await page.getByText("Muted payments").waitFor();
  await openPalette("unmute");
  await selected(/^Unmute payments/);
  await page.keyboard.press("Enter");
  await openPalette("unmute");
  await option("Search events for “unmute”").waitFor();
  await until(async () => (await option(/^Unmute/).count()) === 0);
  await page.keyboard.press("Escape");
}, 60_000);

test("the palette offers nothing that the person may not do", async () => {
  const viewer = await dashboard.openAs("viewer", "/p/default");
  await article("Payment received", viewer).waitFor();
  await viewer.keyboard.press("Control+k");
  await viewer.getByRole("option", { name: "Sign out" }).waitFor();
  const names = await viewer.getByRole("option").allTextContents();
  for (const name of [
    "New channel",
    "New board",
    "New rule",
    "New API key",
    "Invite a member",
    "Import events",
  ])
    expect(names).not.toContain(name);
  expect(names).toContain("Mute a channel…");
  await viewer.context().close();
}, 60_000);

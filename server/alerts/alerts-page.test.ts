// @long
/** Alerts in a real browser: acknowledged, resolved, and by the link in a message. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";

let inbox: SmtpInbox;
let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  inbox = await smtpInbox();
  dashboard = await openDashboard({
    change: { smtpUrl: inbox.url, emailFrom: "Tidings <tidings@example.com>" },
  });
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
  await inbox.close();
});

const section = (name: "Open" | "Resolved") => page.getByRole("region", { name });

test("without an alert, the page says what opens one", async () => {
  await page.goto(`${dashboard.address}/p/default/alerts`);
  await page.getByText("Nothing is wrong").waitFor();
  await expectAccessible("no alerts", page);
});

test("a rule that another event resolves is written, and its alert is acknowledged and resolved", async () => {
  await page.goto(`${dashboard.address}/p/default/rules`);
  await page.getByRole("button", { name: "New rule" }).click();
  await page.getByLabel("Name").fill("Disks");
  await page.getByLabel("Events that match").fill('name:"Disk full"');
  await page.getByLabel("Remind every").waitFor({ state: "detached" });
  await page.getByLabel("Resolved by").fill("state=ok");
  await page.getByLabel("Remind every").fill("30");
  await page.getByRole("button", { name: "Escalate if nobody acknowledges" }).click();
  await page.getByLabel("Minutes without an acknowledgement").fill("10");
  await expectAccessible("a step of an escalation", page);
  await page.getByRole("button", { name: "Create rule" }).click();
  await page
    .getByText('Each event matching name:"Disk full", to everyone, until one matches state=ok')
    .waitFor();

  await dashboard.post({ channel: "servers", name: "Disk full" });
  await page.goto(`${dashboard.address}/p/default`);
  await page.getByRole("link", { name: /^1 open alert/ }).click();
  await page.getByText("The rule opened it.").waitFor();
  await page.goto(`${dashboard.address}/p/default/alerts`);
  const item = section("Open").getByRole("listitem").filter({ hasText: "Disks" });
  await item.getByText("Firing").waitFor();
  await page.getByRole("link", { name: "Alerts 1 open" }).waitFor();
  await item.getByRole("button", { name: "Acknowledge" }).click();
  await item.getByText("Acknowledged").waitFor();
  await item.getByRole("button", { expanded: false, name: "Disks" }).first().click();
  await item.getByText("The rule opened it.").waitFor();
  await expectAccessible("an open alert", page);
  await chooseAction(page, "Disks", "Resolve");
  const resolved = section("Resolved").getByRole("listitem").filter({ hasText: "Disks" });
  await resolved.first().waitFor();
  await page.getByText("Nothing is wrong").waitFor();
});

test("the link in a message asks first, and then resolves without a session", async () => {
  const call = (method: string, path: string, data?: object) =>
    page.request.fetch(dashboard.address + path, { method, data, headers: { origin: dashboard.address } });
  const { destinations } = await (await call("GET", "/api/destinations")).json();
  const { id } = destinations.find(({ kind }: { kind: string }) => kind === "email");
  await call("PATCH", `/api/destinations/${id}`, { enabled: true });
  await dashboard.post({ channel: "servers", name: "Disk full" });
  const link = new URL(/Resolve: (\S+)/.exec((await inbox.next()).text)![1]!);
  const { page: stranger, complaints: others } = await openPage(await dashboard.browser.newContext());
  await stranger.goto(dashboard.address + link.pathname + link.search);
  await stranger.getByRole("button", { name: "Acknowledge" }).waitFor();
  await expectAccessible("the link of an alert", stranger);
  await stranger.getByRole("button", { name: "Resolve" }).click();
  await stranger.getByRole("status").getByText("Resolved").waitFor();
  expect(others).toEqual([]);
});

test("a button of a push notification acknowledges the alert", async () => {
  await dashboard.post({ channel: "servers", name: "Disk full" });
  const link = new URL(/Resolve: (\S+)/.exec((await inbox.next()).text)![1]!);
  const registered = page.context().waitForEvent("serviceworker");
  await page.goto(`${dashboard.address}/p/default/alerts`);
  await page.evaluate("navigator.serviceWorker.register('/sw.js')");
  const worker = await registered;
  expect(await worker.evaluate("alertActions.map(({ title }) => title)")).toEqual(["Acknowledge", "Resolve"]);
  // This Chromium shows no notifications, so the test calls the function of the first button.
  await worker.evaluate(`changeAlert("acknowledge", ${JSON.stringify(link.pathname)})`);
  await page.reload();
  await section("Open").getByText("Acknowledged").waitFor();
});

test("an alert fits on a phone", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${dashboard.address}/p/default/alerts`);
  await section("Resolved").getByRole("listitem").first().waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect(complaints).toEqual([]);
});

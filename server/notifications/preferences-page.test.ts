// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { longTest } from "../testing/long-test.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";

let inbox: Awaited<ReturnType<typeof smtpInbox>>;
let dashboard: TestDashboard;
let page: Page;
beforeAll(async () => {
  inbox = await smtpInbox();
  dashboard = await openDashboard({ change: { smtpUrl: inbox.url } });
  page = await dashboard.open("/account/notifications", { timezoneId: "Europe/Berlin" });
});
afterAll(async () => {
  await dashboard[Symbol.asyncDispose]();
  await inbox.close();
});

test("quiet hours and a digest are chosen in the browser's time zone", async () => {
  await page.getByRole("switch", { name: "Email notifications" }).click();
  await page.getByRole("button", { name: "Change…" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByLabel("Time zone").inputValue()).toBe("Europe/Berlin");
  await dialog.getByLabel("Leave me alone at these times").check();
  await dialog.getByLabel("Sunday").uncheck();
  await dialog.getByLabel("Saturday").uncheck();
  await dialog.getByLabel("From").fill("21:30");
  await dialog.getByLabel("To", { exact: true }).fill("21:30");
  await dialog.getByLabel("Email", { exact: true }).selectOption("week");
  await dialog.getByLabel("On", { exact: true }).selectOption("friday");
  await expectAccessible("the dialog", page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText('The end must differ from "from".').waitFor();
  await dialog.getByLabel("To", { exact: true }).fill("06:00");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("9:30 PM to 6:00 AM, Monday to Friday").waitFor();
  await page.getByText("Together, every Friday at 9:00 AM").waitFor();
});

test("a level is chosen for a channel; the event's page says why it was skipped and collected", async () => {
  await dashboard.post({ channel: "orders", name: "Order placed" });
  await page.getByLabel("Choose for a channel").selectOption("orders");
  await page.getByLabel("orders: Dashboard").selectOption("none");
  const email = page.getByLabel("All channels: Email");
  expect(await email.inputValue()).toBe("");
  await page.reload();
  const level = page.getByLabel("orders: Dashboard");
  await level.waitFor();
  expect(await level.inputValue()).toBe("none");
  await expectAccessible("the settings", page);

  const { id } = await dashboard.post({ channel: "orders", name: "Order placed", notify: true });
  await page.goto(`${dashboard.address}/p/default/events/${id}`);
  await page.getByText("Their setting here is “Nothing”").waitFor();
  await page.getByText("Comes with the digest at").waitFor();
  await page.getByText("Who wasn't notified, and why").click();
  await page.getByText("Has not turned on push notifications in any browser.").waitFor();
});

test("an event is muted on its page, a channel in the inbox, and both are unmuted in the settings", async () => {
  await page.getByRole("button", { name: "Mute", exact: true }).click();
  await page.getByRole("button", { name: "2 hours" }).click();
  await page.getByText("Muted “Order placed” in orders").first().waitFor();

  await dashboard.post({ channel: "payments", name: "<b>Paid</b>", notify: true });
  await page.goto(`${dashboard.address}/notifications`);
  await page.getByRole("button", { name: "Mute <b>Paid</b>" }).click();
  await page.getByLabel("What to mute").selectOption("channel");
  await expectAccessible("muting in the inbox", page);
  await page.getByRole("button", { name: "For good" }).click();
  await page.getByText("Muted payments").first().waitFor();

  await page.goto(`${dashboard.address}/account/notifications`);
  await page.getByText("Until you unmute it").waitFor();
  for (const name of ["payments", "“Order placed” in orders"]) {
    const unmute = page.getByRole("button", { name: `Unmute ${name}` });
    await unmute.click();
    await unmute.waitFor({ state: "detached" });
  }
});

test("the link in an email asks before it unsubscribes, and email is resumed in the settings", async () => {
  await page.getByRole("button", { name: "Change…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email", { exact: true }).selectOption("now");
  await dialog.getByLabel("Leave me alone at these times").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  // What was collected is due.
  const { headers } = await inbox.next();
  const link = new URL(headers["list-unsubscribe"]!.slice(1, -1));
  const visitor = await dashboard.browser.newContext();
  const open = await visitor.newPage();
  await open.goto(dashboard.address + link.pathname);
  await open.getByRole("heading", { name: "Unsubscribe?" }).waitFor();
  await expectAccessible("the unsubscribe page", open);
  await open.getByRole("button", { name: "Unsubscribe" }).click();
  await open.getByRole("heading", { name: "You're unsubscribed" }).waitFor();
  await visitor.close();

  await page.reload();
  const resume = page.getByRole("button", { name: "Resume email from Default" });
  await resume.click();
  await resume.waitFor({ state: "detached" });
});

longTest("a button of a push notification mutes as the person who is signed in", async () => {
  const context = page.context();
  const registered = context.waitForEvent("serviceworker");
  await page.evaluate("navigator.serviceWorker.register('/sw.js')");
  const worker = await registered;
  const buttons = await worker.evaluate('muteActions({ channel: "orders" }).map(({ title }) => title)');
  expect(buttons).toEqual(["Mute this for 2 hours", "Mute orders for 2 hours"]);
  // This Chromium shows no notifications, so the test calls the function of the first button.
  const mute = '{ project: "default", channel: "orders", name: "Order placed" }';
  await worker.evaluate(`muteFor("mute-name", ${mute})`);
  await page.reload();
  await page.getByRole("button", { name: "Unmute “Order placed” in orders" }).waitFor();
});

// @long
/** Deliveries, grouped notifications and rejected events in a real browser. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import type { DeliveryPage } from "../schemas/delivery.ts";
import type { RejectedGroupList } from "../schemas/rejected-event.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";

const phone = { viewport: { width: 390, height: 844 }, colorScheme: "dark" } as const;

let dashboard: TestDashboard;
let receiver: DestinationReceiver;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  receiver = await destinationReceiver();
  dashboard = await openDashboard({ change: { allowPrivateAddresses: true } });
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

async function create<Result>(path: string, data: object): Promise<Result> {
  const response = await page.request.post(`${dashboard.address}${path}?project=default`, {
    data,
    headers: { origin: dashboard.address },
  });
  expect(response.status()).toBe(201);
  return (await response.json()) as Result;
}

async function read<Result>(path: string): Promise<Result> {
  return (await (await page.request.get(dashboard.address + path)).json()) as Result;
}

const deliveries = (query = "") => read<DeliveryPage>(`/api/deliveries?project=default${query}`);
const row = (text: string, by = page) => by.getByRole("main").getByRole("listitem").filter({ hasText: text });

test("a failed delivery is found by its filters, shows what was answered, and is retried", async () => {
  const { destination } = await create<{ destination: { id: string } }>("/api/project-destinations", {
    kind: "webhook",
    name: "Our server",
    settings: receiver.settings.webhook,
  });
  await create("/api/rules", {
    name: "Orders to our server",
    q: "channel:orders",
    when: { type: "each" },
    to: { everyone: false, members: [], destinations: [destination.id] },
  });
  receiver.answerNext(400, "no such order");
  await dashboard.post({ channel: "orders", name: "Order placed" });
  await until(async () => (await deliveries()).dead === 1);
  await dashboard.post({ channel: "orders", name: "Order shipped" });
  await until(async () => (await deliveries("&state=delivered")).deliveries.length === 1);

  await page.goto(`${dashboard.address}/p/default/destinations`);
  await page.getByRole("link", { name: "Deliveries · 1 failed" }).waitFor();
  await page.getByRole("link", { name: "Deliveries to Our server" }).click();
  await row("Order shipped").waitFor();
  expect(await page.getByLabel("Destination").inputValue()).toBe(destination.id);
  await page.getByLabel("State").selectOption("dead");
  await row("Order shipped").waitFor({ state: "detached" });
  await page.waitForURL(/state=dead/);
  await page.reload();
  await row("Order placed").waitFor();
  await page.getByRole("button", { name: "Attempts of Order placed to Our server" }).click();
  await row("Order placed").getByText("no such order").waitFor();
  await expectAccessible("deliveries", page);
  await chooseAction(page, "Order placed to Our server", "Retry");
  await page.getByText("No matching deliveries").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await row("Order placed").getByText("Delivered").first().waitFor();
  await page.getByRole("link", { name: "Order placed" }).click();
  await page.waitForURL(/\/events\//);
});

longTest("all failed deliveries are retried at once", async () => {
  for (let n = 0; n < 3; n++) receiver.answerNext(400, "not now");
  for (let n = 0; n < 3; n++) await dashboard.post({ channel: "orders", name: `Order ${n}` });
  await until(async () => (await deliveries()).dead === 3);
  await page.goto(`${dashboard.address}/p/default/deliveries`);
  await page.getByRole("button", { name: "Retry all failed" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry failed deliveries?" });
  await dialog.getByText("3 failed deliveries are sent again").waitFor();
  await expectAccessible("the question before a retry", page);
  await dialog.getByRole("button", { name: "Retry" }).click();
  await page.getByText("Retrying 3 deliveries").waitFor();
  await until(async () => (await deliveries()).dead === 0);
  await page.getByRole("button", { name: "Retry all failed" }).waitFor({ state: "detached" });
});

longTest("the bell shows notifications of one kind as one, which unfolds and is read at once", async () => {
  for (let n = 0; n < 4; n++)
    await dashboard.post({ channel: "payments", name: "Payment received", userId: `u${n}`, notify: true });
  await dashboard.post({ channel: "deploys", name: "Deployed", notify: true });
  await until(async () => (await read<{ unread: number }>("/api/notifications?limit=1")).unread === 5);
  await page.goto(`${dashboard.address}/p/default/members`);
  await page.getByRole("button", { name: "Notifications, 5 unread" }).click();
  const bell = page.getByRole("dialog", { name: "Notifications" });
  await bell.getByRole("link", { name: /Payment received.*× 4/ }).waitFor();
  await bell.getByRole("button", { name: "3 earlier: Payment received" }).click();
  for (const user of ["u0", "u1", "u2"]) await bell.getByText(new RegExp(`payments.* · .*${user}`)).waitFor();
  await expectAccessible("the bell", page);
  await bell.getByRole("button", { name: "Mark 4 as read: Payment received" }).click();
  await page.getByRole("button", { name: "Notifications, 1 unread" }).waitFor();
  await bell.getByLabel("Channel").selectOption("payments");
  await bell.getByText("Deployed").waitFor({ state: "detached" });
  await bell.getByRole("link", { name: "All notifications" }).click();
  await page.getByRole("main").getByText("× 4").waitFor();
  await page.getByLabel("Channel", { exact: true }).selectOption("deploys");
  await page.getByText("Payment received").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Mark channel as read" }).click();
  await page.getByRole("button", { name: "Notifications", exact: true }).waitFor();
  await expectAccessible("notifications", page);
});

/** Sends invalid events. */
async function reject(...events: object[]): Promise<void> {
  const response = await fetch(`${dashboard.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: JSON.stringify(events),
  });
  expect(response.status).toBe(422);
}

test("rejected events are fixed and resent by reason, and discarded", async () => {
  await reject(
    ...Array.from({ length: 12 }, (_, amount) => ({ channel: "shop", nme: "Sale", tags: { amount } })),
    ...Array.from({ length: 2 }, () => ({ channel: "shop" })),
  );
  await page.goto(`${dashboard.address}/p/default/rejected`);
  await page.getByRole("link", { name: "Rejected events 14 to fix" }).waitFor();
  const group = page
    .getByRole("list", { name: "Reasons" })
    .getByRole("listitem")
    .filter({ hasText: "12 events" });
  await group.getByRole("button", { name: "Fix and resend…" }).click();
  const dialog = page.getByRole("dialog", { name: "Fix and resend 12 events" });
  await dialog.getByText("These fixes make 12 of 12 events valid.").waitFor();
  await expectAccessible("fixes of rejected events", page);
  await dialog.getByRole("button", { name: "Remove the fix: Turn numbers" }).click();
  await dialog.getByText("These fixes make 0 of 12 events valid.").waitFor();
  expect(await dialog.getByRole("button", { name: /^Resend/ }).isEnabled()).toBe(false);
  await dialog.getByLabel("Add a fix").selectOption("Turn numbers and booleans in tags into strings");
  await dialog.getByLabel("Add a fix").selectOption("Set the channel");
  await dialog.getByLabel("Channel", { exact: true }).fill("sales");
  await dialog.getByRole("button", { name: "Resend 12 events" }).click();
  await page.getByText("Resent 12 events").waitFor();
  await group.waitFor({ state: "detached" });
  const { events } = await read<{ events: { name: string; tags: object }[] }>(
    "/api/events?project=default&channel=sales&limit=20",
  );
  expect(events.map(({ name }) => name)).toEqual(Array(12).fill("Sale"));

  await page.getByRole("button", { name: "Discard…" }).click();
  await page
    .getByRole("dialog", { name: "Discard 2 events?" })
    .getByRole("button", { name: "Discard" })
    .click();
  await page.getByText("No rejected events").waitFor();
  expect((await read<RejectedGroupList>("/api/events/rejected/groups?project=default")).total).toBe(0);
});

longTest("a phone reaches rejected events and deliveries from the menu", async () => {
  await reject({ channel: "shop", name: "Sale", tags: { amount: 1 } });
  const small = await dashboard.open("/p/default", phone);
  const menu = small.getByRole("dialog", { name: "Channels" });
  await small.getByRole("button", { name: "Channels" }).click();
  await menu.getByRole("link", { name: "Rejected events 1 to fix" }).click();
  await small.getByRole("button", { name: /^The tag "amount" must be a string/ }).waitFor();
  await expectAccessible("rejected events on a phone", small);
  expect(await small.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await small.getByRole("button", { name: "Channels" }).click();
  await menu.getByRole("link", { name: "Deliveries" }).click();
  await row("Order shipped", small).waitFor();
  await expectAccessible("deliveries on a phone", small);
  expect(await small.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await small.context().close();
});

longTest("a viewer has nothing to press", async () => {
  const viewer = await dashboard.openAs("viewer", "/p/default/rejected");
  await viewer.getByRole("button", { name: /^The tag "amount" must be a string/ }).waitFor();
  expect(await viewer.getByRole("button", { name: /Fix and resend|Discard/ }).count()).toBe(0);
  await viewer.goto(`${dashboard.address}/p/default/deliveries`);
  await row("Order shipped", viewer).waitFor();
  expect(await viewer.getByRole("button", { name: /^Retry/ }).count()).toBe(0);
  expect(await viewer.getByLabel("Person").count()).toBe(0);
  await viewer.context().close();
  // The browser reports rejected forms as errors of the network.
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

// @long
/** Retention and deletion on the dashboard: a real server, a real Chromium. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import type { Event } from "../event/event.ts";
import type { Channel } from "../schemas/channel.ts";
import { longTest } from "../testing/long-test.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { untilListed } from "../testing/until.ts";
import { expectAccessible, openPage } from "./browser/browser-page.ts";
import { launchChromium } from "./browser/chromium.ts";

const dayMs = 86_400_000;

let app: TestApp;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  app = await testApp();
  browser = await launchChromium();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  ({ page, complaints } = await openPage(context));
  await page.goto(`${app.address}/sign-in`);
  await page.getByLabel("Email").fill(app.owner);
  await page.getByLabel("Password", { exact: true }).fill(testPassword);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Channels" }).waitFor();
});

afterAll(async () => {
  await browser?.close();
  await app?.[Symbol.asyncDispose]();
});

async function post(event: object): Promise<Event> {
  const response = await app.post(event);
  expect(response.status).toBe(201);
  return ((await response.json()) as { event: Event }).event;
}

async function channel(name: string): Promise<Channel | undefined> {
  const { channels } = (await (await app.request("/api/channels")).json()) as { channels: Channel[] };
  return channels.find((each) => each.name === name);
}

const article = (text: string) => page.getByRole("article").filter({ hasText: text });
const inNav = (name: string) =>
  page.getByRole("navigation", { name: "Channels" }).getByRole("link", { name: new RegExp(name) });
const dialog = () => page.getByRole("dialog");
const save = () => dialog().getByRole("button", { name: "Save" }).click();

test("a channel gets an icon, a description and a retention, and is archived and restored", async () => {
  await post({ channel: "deliveries", name: "Parcel sent", createdAt: Date.now() - 9 * dayMs });
  await post({ channel: "deliveries", name: "Parcel arrived" });
  await page.goto(`${app.address}/p/default/channels/deliveries`);
  await article("Parcel sent").waitFor();
  await page.getByRole("button", { name: "Edit channel" }).click();
  await dialog().getByRole("button", { name: "Parcel" }).click();
  await dialog().getByLabel("Description").fill("What left the house");
  await dialog().getByLabel("Keep events for (days)").fill("7");
  await expectAccessible("a channel's dialog", page);
  await save();
  await dialog().waitFor({ state: "detached" });
  await page.locator("main").getByText("What left the house").waitFor();
  await inNav("deliveries").getByText("📦").waitFor();
  expect(await channel("deliveries")).toMatchObject({
    icon: "📦",
    description: "What left the house",
    retentionDays: 7,
    archivedAt: null,
  });
  await untilListed(app, 1, "?channel=deliveries");

  await page.getByRole("button", { name: "Edit channel" }).click();
  await dialog().getByRole("switch", { name: "Archived" }).click();
  await dialog().getByLabel("Keep events for (days)").fill("");
  await dialog().getByLabel("Icon").fill("");
  await save();
  await page.locator("main").getByText("Archived", { exact: true }).waitFor();
  await inNav("deliveries").waitFor({ state: "detached" });
  expect(await channel("deliveries")).toMatchObject({
    retentionDays: null,
    archivedAt: expect.any(String),
  });
  expect((await channel("deliveries"))!.icon).toBeUndefined();

  await page.getByRole("button", { name: "Show archived (1)" }).click();
  await inNav("deliveries").click();
  await page.getByRole("button", { name: "Edit channel" }).click();
  await dialog().getByRole("switch", { name: "Archived", checked: true }).click();
  await save();
  await page.getByRole("button", { name: /archived/ }).waitFor({ state: "detached" });
  await inNav("deliveries").waitFor();
  expect((await channel("deliveries"))!.archivedAt).toBeNull();
});

longTest("a project's retention is set, after a confirmation if that deletes events", async () => {
  await post({ channel: "history", name: "Long ago", createdAt: Date.now() - 40 * dayMs });
  await page.goto(`${app.address}/p/default/settings`);
  const field = page.getByLabel("Keep events for (days)");
  const form = page.locator("form").filter({ has: field });
  const kept = async () => {
    const headers = { cookie: await app.signIn() };
    const { projects } = (await (await app.request("/api/projects", { headers })).json()) as {
      projects: { retentionDays: number | null }[];
    };
    return projects[0]!.retentionDays;
  };
  const saved = form.getByText("Saved");

  await field.fill("30");
  await form.getByRole("button", { name: "Save" }).click();
  await dialog().getByText("older than 30 days").waitFor();
  await expectAccessible("a question", page);
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(await kept()).toBeNull();
  expect(await app.list("?channel=history")).toHaveLength(1);

  await form.getByRole("button", { name: "Save" }).click();
  await dialog().getByRole("button", { name: "Delete older events" }).click();
  await saved.waitFor();
  expect(await kept()).toBe(30);
  await untilListed(app, 0, "?channel=history");

  for (const [text, days] of [
    ["60", 60],
    ["", null],
  ] as const) {
    await field.fill(text);
    await saved.waitFor({ state: "detached" });
    await form.getByRole("button", { name: "Save" }).click();
    await saved.waitFor();
    expect(await kept()).toBe(days);
  }
});

test("an event is deleted after a confirmation", async () => {
  const { id } = await post({ channel: "mistakes", name: "Sent by mistake" });
  await page.goto(`${app.address}/p/default/channels/mistakes`);
  await article("Sent by mistake").click();
  await page.getByRole("button", { name: "Delete event" }).click();
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });
  expect((await app.request(`/api/events/${id}`)).status).toBe(200);
  await page.getByRole("button", { name: "Delete event" }).click();
  await dialog().getByRole("button", { name: "Delete" }).click();
  await page.getByRole("region", { name: "Event", exact: true }).waitFor({ state: "detached" });
  expect((await app.request(`/api/events/${id}`)).status).toBe(404);
  await page.reload();
  await page.getByRole("heading", { name: "mistakes" }).waitFor();
  expect(await article("Sent by mistake").count()).toBe(0);
});

test("a channel is deleted once its name is typed, and leaves the list", async () => {
  await Promise.all(Array.from({ length: 150 }, () => post({ channel: "noise", name: "Beep" })));
  await page.goto(`${app.address}/p/default/channels/noise`);
  await article("Beep").first().waitFor();
  await page.getByRole("button", { name: "Edit channel" }).click();
  await dialog().getByRole("button", { name: "Delete…" }).click();
  const button = dialog().getByRole("button", { name: "Delete channel" });
  const field = dialog().getByLabel('Type "noise" to confirm');
  await field.fill("nois");
  expect(await button.isDisabled()).toBe(true);
  await expectAccessible("deleting a channel", page);
  await field.fill("noise");
  await button.click();
  await page.getByRole("heading", { name: "All events" }).waitFor();
  await inNav("noise").waitFor({ state: "detached" });
  expect(await channel("noise")).toBeUndefined();
  expect(await app.list("?channel=noise")).toEqual([]);
  expect(await channel("deliveries")).toBeDefined();
});

longTest("a project is deleted once its slug is typed, and another is created", async () => {
  await page.goto(`${app.address}/p/default/settings`);
  await page.getByRole("button", { name: "Delete project…" }).click();
  const button = dialog().getByRole("button", { name: "Delete project" });
  expect(await button.isDisabled()).toBe(true);
  await dialog().getByLabel('Type "default" to confirm').fill("default");
  await button.click();
  await page.getByText("You're not in any project").waitFor();
  expect((await app.request("/api/channels")).status).toBe(401);
  await page.locator("main").getByRole("button", { name: "New project" }).click();
  await dialog().getByLabel("Name").fill("Second try");
  await expectAccessible("a new project", page);
  await dialog().getByRole("button", { name: "Create project" }).click();
  await page.waitForURL(`${app.address}/p/second-try`);
});

test("the browser reported no errors", () => {
  expect(complaints).toEqual([]);
});

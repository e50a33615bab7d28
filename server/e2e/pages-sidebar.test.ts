// @long
/** The sidebar: views, unread events on two devices, pins, the filter of channels, and undo. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import type { Sidebar } from "../schemas/view.ts";
import { openFinger } from "../testing/finger.ts";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

const letters = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];

beforeAll(async () => {
  dashboard = await openDashboard();
  for (const channel of letters) {
    await dashboard.post({ channel, name: "Old", createdAt: "2026-01-31T10:00:00Z", tags: { plan: "pro" } });
  }
  page = await dashboard.open("/p/default");
  await channel("alpha").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const nav = (on = page) => on.getByRole("navigation", { name: "Channels" });
const channel = (name: string, on = page) => nav(on).getByRole("link", { name: new RegExp(`^${name} `) });
const unread = (name: string, count: number | string, on = page) =>
  nav(on).getByRole("link", { name: `${name} ${count} unread`, exact: true });
const undo = (title: string) =>
  page.locator("[data-toast]").filter({ hasText: title }).last().getByRole("button", { name: "Undo" });
const listed = () =>
  page.evaluate<string[]>(`[...document.querySelectorAll("[data-channel]")].map((a) => a.dataset.channel)`);

async function choose(of: string, item: string) {
  // The list may scroll, and the button is visible under the pointer.
  await page.getByRole("button", { name: of, exact: true }).click();
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

const middleOf = (box: { x: number; y: number; height: number } | null) => ({
  x: box!.x + 40,
  y: box!.y + box!.height / 2,
});

/** Drags a link in the sidebar to the place of another one. */
async function drag(link: Locator, to: Locator) {
  const [from, target] = [middleOf(await link.boundingBox()), middleOf(await to.boundingBox())];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  const isFollowing = async () => {
    await page.mouse.move(from.x, from.y - 10);
    await page.mouse.move(target.x, target.y);
    return link.locator("..").evaluate(({ style }) => style.transform !== "");
  };
  // What follows the pointer is loaded at the first press.
  await until(isFollowing);
  await page.mouse.up();
}

const sidebar = async () =>
  (await (await page.request.get(`${dashboard.address}/api/sidebar?project=default`)).json()) as Sidebar;

test("events that arrive elsewhere are unread, and reading them on one device is known to all", async () => {
  await channel("alpha").click();
  await page.getByRole("heading", { name: "alpha" }).waitFor();
  await dashboard.post({ channel: "bravo", name: "New" });
  await unread("bravo", 1).waitFor();
  const other = await (await dashboard.newContext()).newPage();
  await other.goto(`${dashboard.address}/p/default/channels/alpha`);
  await unread("bravo", 1, other).waitFor();
  await channel("bravo").click();
  await unread("bravo", 1).waitFor({ state: "detached" });
  await until(async () => (await sidebar()).channels.every((each) => each.unread === 0));
  await other.reload();
  await channel("bravo", other).waitFor();
  expect(await nav(other).getByText("unread").count()).toBe(0);
  await other.context().close();
});

longTest("marking as read can be undone", async () => {
  await dashboard.post({ channel: "charlie", name: "New" });
  await unread("charlie", 1).waitFor();
  await choose("Actions for charlie", "Mark as read");
  await unread("charlie", 1).waitFor({ state: "detached" });
  await undo("Marked as read").click();
  await unread("charlie", 1).waitFor();
  await choose("Channel list", "Mark all as read");
  await unread("charlie", 1).waitFor({ state: "detached" });
});

test("a search is saved as a view, which counts what is unread, is renamed and deleted, and comes back", async () => {
  const view = (name: string) => nav().getByRole("link", { name: new RegExp(`^${name}`) });
  await page.goto(`${dashboard.address}/p/default/channels/delta?tag.plan=pro`);
  const split = page.getByRole("combobox", { name: "Split by" });
  await split.focus();
  await split.selectOption("tag.plan");
  await page.waitForURL(/&split=tag\.plan$/);
  await page.getByRole("button", { name: "Save view" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Delta, pro");
  await dialog.getByRole("switch", { name: "For the project" }).click();
  await expectAccessible("a view's dialog", page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await view("Delta, pro").waitFor();
  await page.getByRole("heading", { name: "Delta, pro" }).waitFor();
  expect((await sidebar()).views).toMatchObject([
    { q: "plan=pro channel:delta", split: "tag.plan", shared: true },
  ]);

  await channel("alpha").click();
  await dashboard.post({ channel: "delta", name: "New", tags: { plan: "pro" } });
  await dashboard.post({ channel: "delta", name: "New", tags: { plan: "free" } });
  await unread("Delta, pro", 1).waitFor();
  await unread("delta", 2).waitFor();
  await view("Delta, pro").click();
  await page.getByRole("article").filter({ hasText: "New" }).waitFor();
  await until(async () => (await split.inputValue()) === "tag.plan");
  await unread("Delta, pro", 1).waitFor({ state: "detached" });
  await until(async () => (await sidebar()).views[0]!.unread === 0);

  await choose("Actions for Delta, pro", "Rename");
  await dialog.getByLabel("Name").fill("Paying");
  await dialog.getByRole("button", { name: "Save" }).click();
  await view("Paying").waitFor();
  await choose("Actions for Paying", "Delete");
  await view("Paying").waitFor({ state: "detached" });
  await undo('View "Paying" deleted').click();
  await view("Paying").waitFor();
});

longTest("pinned channels come first, and the order of the others can be chosen", async () => {
  await choose("Actions for golf", "Pin");
  await until(async () => (await listed())[0] === "golf");
  await choose("Actions for echo", "Pin");
  await until(async () => (await listed()).slice(0, 2).join() === "golf,echo");
  await choose("Actions for echo", "Move up");
  await until(async () => (await listed()).slice(0, 3).join() === "echo,golf,alpha");
  await expectAccessible("pinned channels", page);
  await drag(channel("golf"), channel("echo"));
  await until(async () => (await listed()).slice(0, 3).join() === "golf,echo,alpha");
  await until(async () => (await sidebar()).channels.find(({ id }) => id === "golf")!.pin === 0);
  expect(new URL(page.url()).pathname).not.toContain("golf");
  await channel("echo").focus();
  await page.keyboard.press("Alt+ArrowUp");
  await until(async () => (await listed()).slice(0, 3).join() === "echo,golf,alpha");
  await until(async () => (await sidebar()).channels.find(({ id }) => id === "echo")!.pin === 0);
  await page.reload();
  await until(async () => (await listed()).slice(0, 2).join() === "echo,golf");
  await dashboard.post({ channel: "hotel", name: "Latest", createdAt: Date.now() + 3 * 60_000 });
  await choose("Channel list", "Newest events first");
  await until(async () => (await listed()).slice(0, 3).join() === "echo,golf,hotel");
  await choose("Channel list", "By name");
  await until(async () => (await listed())[2] === "alpha");
  for (const name of ["echo", "golf"]) await choose(`Actions for ${name}`, "Unpin");
  await until(async () => (await listed()).join() === letters.join());
});

longTest("views are arranged by mouse, and by a long press as pins are", async () => {
  const views = async () => (await sidebar()).views.map(({ name }) => name);
  const before = await views();
  for (const name of ["First", "Second", "Third"]) {
    const data = { name, q: `plan=${name}`, shared: false };
    await page.request.post(`${dashboard.address}/api/views?project=default`, {
      data,
      headers: { origin: dashboard.address },
    });
  }
  const ownViews = async () => (await views()).filter((name) => !before.includes(name)).join();
  const view = (name: string, on = page) => nav(on).getByRole("link", { name, exact: true });
  await page.reload();
  await view("First").waitFor();
  await drag(view("Third"), view("First"));
  await until(async () => (await ownViews()) === "Third,First,Second");

  const context = await dashboard.newContext({ viewport: { width: 390, height: 600 }, hasTouch: true });
  const phone = await context.newPage();
  await phone.goto(`${dashboard.address}/p/default`);
  await phone.getByRole("button", { name: "Channels" }).tap();
  const finger = await openFinger(phone);
  const scrollTop = () =>
    view("Third", phone).evaluate((link) => {
      let list = link;
      while (list.parentElement && list.scrollHeight <= list.clientHeight) list = list.parentElement;
      return list.scrollTop;
    });
  /** Presses until the item can be moved, and moves it to the place of another. The list doesn't scroll. */
  async function dragByFinger(from: Locator, to: Locator) {
    await from.click({ trial: true });
    const [start, target] = [middleOf(await from.boundingBox()), middleOf(await to.boundingBox())];
    await finger.press(start);
    const scrolled = await scrollTop();
    const item = from.locator("..");
    await until(() => item.evaluate(({ style }) => style.opacity !== ""));
    await finger.move(start, { x: start.x, y: target.y });
    await finger.release();
    expect(await scrollTop()).toBe(scrolled);
  }
  await dragByFinger(view("Third", phone), view("Second", phone));
  await until(async () => (await ownViews()) === "First,Second,Third");
  // The link was not followed.
  expect(new URL(phone.url()).search).toBe("");

  // A finger that moves at once scrolls.
  const [from, to] = [await view("Third", phone).boundingBox(), await view("First", phone).boundingBox()];
  await finger.press(middleOf(from));
  await finger.move(middleOf(from), middleOf(to));
  await finger.release();
  await until(async () => (await scrollTop()) > 0);
  expect(await ownViews()).toBe("First,Second,Third");
  await context.close();
});

longTest("the filter narrows the list, also to archived channels, and Enter opens the first", async () => {
  await choose("Actions for foxtrot", "Archive");
  await channel("foxtrot").waitFor({ state: "detached" });
  await undo('Channel "foxtrot" archived').click();
  await channel("foxtrot").waitFor();
  await choose("Actions for foxtrot", "Archive");
  await channel("foxtrot").waitFor({ state: "detached" });
  await page.keyboard.press("c");
  await page.keyboard.type("OX");
  await until(async () => (await listed()).join() === "foxtrot");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "foxtrot" }).waitFor();
  await until(async () => (await listed()).length === letters.length - 1);
});

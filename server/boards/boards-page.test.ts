/** Boards in a real browser: tiles by form, arranged by keyboard and pointer, periods, the public link, a phone. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import type { Board, BoardSummary } from "../schemas/board.ts";
import { openFinger } from "../testing/finger.ts";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";

const path = "/p/default/boards";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  // With what browsers will do next, such as `scrollTo` returning a promise: a board that is left must not call it.
  dashboard = await openDashboard({ flags: ["--enable-experimental-web-platform-features"] });
  ({ page, complaints } = await openPage(
    // Tall enough that nothing has to scroll while it is dragged.
    await dashboard.newContext({ viewport: { width: 1440, height: 1400 } }),
  ));
  for (const [name, userId] of [
    ["Paid", "ada"],
    ["Paid", "bo"],
    ["Failed", "bo"],
  ])
    await dashboard.post({ channel: "payments", name, userId, tags: { amount: "10" } });
  await dashboard.post({ channel: "logins", name: "Signed in", userId: "ada", notify: true });
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const tile = (name: string, by = page) => by.getByRole("region", { name, exact: true });
const button = (name: string, by = page) => by.getByRole("button", { name, exact: true });
const dialogClosed = () => page.getByRole("dialog").waitFor({ state: "detached" });
const saved = () => button("Save").waitFor({ state: "detached" });

async function call<Body>(method: string, to: string, data?: object): Promise<Body> {
  const response = await page.request.fetch(`${dashboard.address}${to}?project=default`, {
    method,
    ...(data && { data }),
    headers: { origin: dashboard.address },
  });
  expect(`${response.status()} ${await response.text()}`).toStartWith("20");
  return (await response.json()) as Body;
}

async function boards(): Promise<BoardSummary[]> {
  return (await call<{ boards: BoardSummary[] }>("GET", "/api/boards")).boards;
}

async function firstBoard(): Promise<Board> {
  return (await call<{ board: Board }>("GET", `/api/boards/${(await boards())[0]!.id}`)).board;
}

async function placeOf(title: string): Promise<number[]> {
  const { x, y, w, h } = (await firstBoard()).tiles.find((each) => each.title === title)!;
  return [x, y, w, h];
}

test("the first board shows the project's events, and follows new ones", async () => {
  await page.goto(dashboard.address + path);
  await tile("Events").getByText("4", { exact: true }).waitFor();
  await tile("Top events").getByRole("row", { name: /Paid/ }).getByText("2", { exact: true }).waitFor();
  await tile("Events by channel")
    .getByRole("button", { name: /payments/ })
    .waitFor();
  await tile("Newest that notify").getByRole("link", { name: "Signed in" }).waitFor();
  await expectAccessible("a board", page);
  await dashboard.post({ channel: "payments", name: "Refunded" });
  // At the latest when all tiles are computed again.
  await tile("Events").getByText("5", { exact: true }).waitFor({ timeout: 60_000 });
}, 600_000);

test("another board is shown from its top, and the one before was left without an error", async () => {
  const { name, tiles } = await firstBoard();
  const { board } = await call<{ board: Board }>("POST", "/api/boards", { name: "Second", tiles });
  await page.goto(dashboard.address + path);
  await page.setViewportSize({ width: 1440, height: 500 });
  const tabs = page.getByRole("navigation", { name: "Boards" });
  const pane = page.locator(".board-pane");
  for (const shown of ["Second", name]) {
    await pane.evaluate((element) => element.scrollTo(0, 200));
    expect(await pane.evaluate((element) => element.scrollTop)).toBe(200);
    await tabs.getByRole("link", { name: shown }).click();
    await page.getByRole("heading", { level: 1, name: shown }).waitFor();
    await tile("Events").getByText("5", { exact: true }).waitFor();
    expect(await pane.evaluate((element) => element.scrollTop)).toBe(0);
  }
  expect(complaints).toEqual([]);
  await call("DELETE", `/api/boards/${board.id}`);
  await page.setViewportSize({ width: 1440, height: 1400 });
});

test("a tile is made by form, with a preview, completion and errors at their fields", async () => {
  await button("Edit").click();
  await button("Add tile").click();
  const dialog = page.getByRole("dialog", { name: "New tile" });
  await dialog.getByRole("radio", { name: "Table" }).check();
  await dialog.getByLabel("Title").fill("Payments by name");
  const search = dialog.getByLabel("Events that match");
  await search.fill("(channel:payments amount > 5");
  const mistake = dialog.getByRole("alert").filter({ hasText: "without spaces" });
  await mistake.waitFor();
  expect(await search.getAttribute("aria-invalid")).toBe("true");
  await dialog.getByText("The preview appears when the search is valid.").waitFor();
  await search.fill("channel:payments amount > 5");
  await mistake.getByRole("button", { name: "channel:payments amount>5" }).click();
  await mistake.waitFor({ state: "detached" });
  expect(await search.inputValue()).toBe("channel:payments amount>5");
  await search.fill("");
  await search.pressSequentially("channel:pay");
  await page.getByRole("option", { name: "payments" }).click();
  await dialog.getByRole("row", { name: /Refunded/ }).waitFor();
  await dialog.getByRole("row", { name: /Signed in/ }).waitFor({ state: "detached" });
  await expectAccessible("the editor of a tile", page);
  await dialog.getByRole("button", { name: "Add tile" }).click();
  await dialogClosed();
  await tile("Payments by name")
    .getByRole("row", { name: /Failed/ })
    .waitFor();
  await button("Save").click();
  await saved();
  const made = (await firstBoard()).tiles.find(({ title }) => title === "Payments by name");
  expect(made).toMatchObject({ type: "table", q: "channel:payments", split: "name", metric: "events" });
});

longTest("tiles are moved and resized by keyboard, undone, and nothing is saved before Save", async () => {
  await page.goto(dashboard.address + path);
  const before = await placeOf("Users");
  await button("Edit").click();
  await button("Move Users").focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("status").filter({ hasText: "Users: column 5, row 1, 3 wide, 2 high" }).waitFor();
  await button("Resize Users").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("status").filter({ hasText: "2 wide, 3 high" }).waitFor();
  await expectAccessible("a board that is edited", page);
  await page.keyboard.press("Control+z");
  expect(await placeOf("Users")).toEqual(before);
  await button("Save").click();
  await saved();
  expect((await placeOf("Users")).slice(2)).toEqual([3, 3]);
  expect((await placeOf("Users"))[0]).toBe(before[0]! + 1);
});

longTest("tiles are moved and resized by pointer", async () => {
  await button("Edit").click();
  /** Drags a handle by these pixels, once its tile has come to rest. */
  async function drag(name: string, x: number, y: number) {
    await button(name).hover();
    const box = (await button(name).boundingBox())!;
    const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await page.mouse.down();
    await page.mouse.move(at.x + x / 2, at.y + y / 2, { steps: 4 });
    await page.mouse.move(at.x + x, at.y + y, { steps: 4 });
    await page.mouse.up();
  }
  const { width } = (await tile("Top events").boundingBox())!;
  // Twice as far as the tile is wide: into the last of three columns of tiles.
  await drag("Move Top events", 2 * width, 4);
  await drag("Resize Top events", 0, -70);
  await button("Save").click();
  await saved();
  const [x, , w, h] = await placeOf("Top events");
  expect([x, w, h]).toEqual([8, 4, 4]);
});

longTest("who saves later is told, and can keep either version", async () => {
  const { id, name, version } = await firstBoard();
  await button("Edit").click();
  await page.getByLabel("Name of the board").fill("Mine");
  await call("PATCH", `/api/boards/${id}`, { name: "Theirs" });
  await button("Save").click();
  const conflict = page.getByRole("dialog", { name: "This board has changed meanwhile" });
  await conflict.getByRole("radio", { name: "In the other tab Theirs" }).waitFor();
  await expectAccessible("a conflict", page);
  await conflict.getByRole("radio", { name: "Here Mine" }).check();
  await button("Save").click();
  await page.getByRole("heading", { level: 1, name: "Mine" }).waitFor();
  const kept = await firstBoard();
  expect(kept.name).toBe("Mine");
  expect(kept.version).not.toBe(version);
  await call("PATCH", `/api/boards/${id}`, { name });
});

longTest("tiles are moved and resized by a finger, on a tablet", async () => {
  const tablet = await dashboard.open(path, { viewport: { width: 1024, height: 1400 }, hasTouch: true });
  await button("Edit", tablet).click();
  const finger = await openFinger(tablet);
  async function drag(name: string, x: number, y: number) {
    // Waits until its tile has come to rest.
    await button(name, tablet).click({ trial: true });
    const box = (await button(name, tablet).boundingBox())!;
    const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await finger.press(from);
    await finger.move(from, { x: from.x + x, y: from.y + y });
    await finger.release();
  }
  const [before] = await placeOf("Users over time");
  const { width } = (await tile("Users over time", tablet).boundingBox())!;
  await drag("Move Users over time", before === 0 ? width : -width, 4);
  await drag("Resize Users over time", 0, 70);
  await button("Save", tablet).click();
  await button("Save", tablet).waitFor({ state: "detached" });
  const [x, , w, h] = await placeOf("Users over time");
  expect([x, w, h]).toEqual([before === 0 ? 4 : before! - 4, 4, 6]);
  await tablet.context().close();
});

longTest("the period is in the address", async () => {
  await page.goto(`${dashboard.address + path}?range=24h`);
  const period = (name: string) => page.getByRole("button", { name: `Time: ${name}` });
  const choose = (name: string) => page.getByRole("menuitem", { name }).click();
  await period("Last 24 hours").waitFor();
  await tile("Events").getByText("5", { exact: true }).waitFor();
  await period("Last 24 hours").click();
  await choose("Last 30 days");
  await page.waitForURL(/range=30d/);
  await button("Compare").click();
  await page.waitForURL(/compare=no/);
  await tile("Top events").getByRole("columnheader", { name: "Change" }).waitFor({ state: "detached" });
  await period("Last 30 days").click();
  await choose("Choose days");
  const dialog = page.getByRole("dialog", { name: "Choose days" });
  await dialog.getByLabel("First day").fill("2024-01-01");
  await dialog.getByLabel("Last day").fill("2024-01-07");
  await dialog.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/from=2024-01-01&to=2024-01-07/);
  await period("Jan 1, 2024 – Jan 7, 2024").waitFor();
  await tile("Events").getByText("0", { exact: true }).waitFor();
  await page.goBack();
  await page.waitForURL(/range=30d&compare=no/);
  await tile("Events").getByText("5", { exact: true }).waitFor();
  // The feed has the same time and split.
  await button("Menu of Top events").click();
  await page.getByRole("menuitem", { name: "Open in the feed" }).click();
  await page.waitForURL(/\/p\/default\?from=[^&]+&split=name$/);
  await page.getByRole("article").first().waitFor();
});

longTest("a tile is saved as CSV and as a picture", async () => {
  await page.goto(dashboard.address + path);
  await tile("Top events").getByRole("row", { name: /Paid/ }).waitFor();
  async function download(item: string) {
    await button("Menu of Top events").click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: item }).click(),
    ]);
    const bytes = await Bun.file(await file.path()).bytes();
    return { name: file.suggestedFilename(), bytes };
  }
  const csv = await download("Save as CSV");
  expect(csv.name).toMatch(/^Top events .*\.csv$/);
  expect(new TextDecoder().decode(csv.bytes)).toStartWith("Name,Events,Before\r\nPaid,2,0\r\n");
  const png = await download("Save as PNG");
  expect([...png.bytes.slice(1, 4)]).toEqual([..."PNG"].map((letter) => letter.charCodeAt(0)));
});

longTest("boards are created, duplicated, and deleted with a way back", async () => {
  const [first] = await boards();
  const menu = () => button("Menu of the board");
  await menu().click();
  await page.getByRole("menuitem", { name: "New board" }).click();
  const dialog = page.getByRole("dialog", { name: "New board" });
  await dialog.getByLabel("Name").fill("Second");
  await dialog.getByRole("radio", { name: "Nothing" }).check();
  await dialog.getByRole("button", { name: "Create board" }).click();
  await page.getByText("An empty board").waitFor();
  await expectAccessible("an empty board", page);
  await menu().click();
  await page.getByRole("menuitem", { name: "Move left" }).click();
  await until(async () => (await boards())[0]!.name === "Second");
  await menu().click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await page.getByRole("heading", { level: 1, name: "Second (copy)" }).waitFor();
  await menu().click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const deleted = page.locator("[data-toast]").filter({ hasText: 'Board "Second (copy)" deleted' });
  await deleted.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { level: 1, name: "Second (copy)" }).waitFor();
  for (const { id } of await boards()) if (id !== first!.id) await call("DELETE", `/api/boards/${id}`);
});

longTest("the full screen shows only tiles, and Escape leaves it", async () => {
  await page.goto(dashboard.address + path);
  await tile("Events").waitFor();
  await page.keyboard.press("f");
  const wall = page.locator(".board-wall");
  await wall.getByRole("region", { name: "Events", exact: true }).waitFor();
  const box = (await wall.boundingBox())!;
  expect([box.x, box.y]).toEqual([0, 0]);
  await page.keyboard.press("Escape");
  await wall.waitFor({ state: "detached" });
});

test("whoever has the public link sees the board, until it ends", async () => {
  await button("Menu of the board").click();
  await page.getByRole("menuitem", { name: "Public link" }).click();
  const dialog = page.getByRole("dialog", { name: "Public link" });
  await dialog.getByRole("button", { name: "Create link" }).click();
  const link = (await dialog.locator("[data-secret]").textContent())!;
  await expectAccessible("a public link", page);
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByLabel("Public", { exact: true }).waitFor();

  const context = await dashboard.browser.newContext({ viewport: { width: 1440, height: 900 } });
  const visitor = await context.newPage();
  const asked: string[] = [];
  visitor.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const response = await visitor.goto(dashboard.address + new URL(link).pathname);
  expect(response!.headers()["x-robots-tag"]).toBe("noindex");
  await tile("Events", visitor).getByText("5", { exact: true }).waitFor();
  await tile("Newest that notify", visitor).getByText("Signed in").waitFor();
  expect(await visitor.getByRole("main").textContent()).not.toContain("ada");
  await expectAccessible("a public board", visitor);
  // Nothing but the board's own results.
  expect(asked.filter((path) => path.startsWith("/api/") && !path.startsWith("/api/public/boards/"))).toEqual(
    [],
  );

  await button("Menu of the board").click();
  await page.getByRole("menuitem", { name: "Public link" }).click();
  await dialog.getByRole("button", { name: "End the link" }).click();
  await dialogClosed();
  await visitor.reload();
  await visitor.getByText("This link doesn't work").waitFor();
  await context.close();
});

test("insights are listed with who set them, become tiles with a way back, and are deleted", async () => {
  await fetch(`${dashboard.address}/api/insights/customers`, {
    method: "PUT",
    headers: { "x-api-key": dashboard.key, "content-type": "application/json" },
    body: JSON.stringify({ title: "Customers <b>", value: 1_204, icon: "💳" }),
  });
  await page.goto(`${dashboard.address}${path}`);
  await page.getByRole("link", { name: "Insights" }).click();
  const row = page.getByRole("row").filter({ hasText: "Customers <b>" });
  await row.getByText("1,204").waitFor();
  await row.getByText("by key").waitFor();
  await expectAccessible("insights", page);
  const before = (await firstBoard()).tiles.length;
  await page.getByRole("button", { name: "Actions for Customers <b>" }).click();
  await page
    .getByRole("menuitem", { name: /^Add to the board/ })
    .first()
    .click();
  await page.getByText("Added to").waitFor();
  expect((await firstBoard()).tiles.filter(({ type }) => type === "value")).toHaveLength(1);
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await firstBoard()).tiles.length === before);
  await chooseAction(page, "Customers <b>", "Delete…");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "No insights yet" }).waitFor();
});

longTest("a viewer sees boards, and nothing to change them", async () => {
  const viewer = await dashboard.openAs("viewer", path);
  await tile("Events", viewer).getByText("5", { exact: true }).waitFor();
  expect(await button("Edit", viewer).count()).toBe(0);
  // Everybody may get a board by email.
  await button("Menu of the board", viewer).click();
  await viewer.getByRole("menuitem").first().waitFor();
  expect(await viewer.getByRole("menuitem").allTextContents()).toEqual(["Send as a report…"]);
  await viewer.context().close();
});

longTest("on a phone, in the dark, tiles are in one column", async () => {
  const phone = await dashboard.open(path, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await tile("Events", phone).getByText("5", { exact: true }).waitFor();
  await tile("Events by channel", phone).getByRole("slider").waitFor();
  const [events, users] = [
    await tile("Events", phone).boundingBox(),
    await tile("Users", phone).boundingBox(),
  ];
  expect(users!.x).toBe(events!.x);
  expect(users!.y).toBeGreaterThan(events!.y);
  await expectAccessible("a board on a phone", phone);
  expect(await phone.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await phone.context().close();
  // The browser reports rejected requests as errors of the network.
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

// @long
/** From the numbers of a board to the users and events that they count, and what charts say: a real browser. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import type { Board } from "../schemas/board.ts";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible, openPage } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
let board: Board;

const place = { w: 6, h: 6 };
const tiles = [
  {
    ...{ id: "steps", type: "funnel", title: "To payment", x: 0, y: 0, ...place, windowSeconds: 7 * 86_400 },
    steps: ['name:"Cart opened"', "name:Paid plan=pro"],
    stepNames: ["", "Paid for Pro"],
  },
  { ...{ id: "back", type: "retention", title: "Back", x: 6, y: 0, ...place }, q: "channel:shop", again: "" },
  { ...{ id: "chart", type: "bar", title: "By name", x: 0, y: 6, ...place }, q: "", split: "name", limit: 3 },
  {
    ...{ id: "buyers", type: "number", title: "Buyers", x: 6, y: 6, w: 3, h: 2 },
    q: "name:Paid",
    metric: "users",
  },
  {
    ...{ id: "sum", type: "number", title: "Revenue", x: 9, y: 6, w: 3, h: 2 },
    ...{ q: "channel:shop OR channel:none", metric: "sum", tag: "amount" },
  },
  {
    ...{ id: "paths", type: "paths", title: "After a cart", x: 0, y: 12, ...place },
    anchor: 'name:"Cart opened"',
  },
  {
    ...{ id: "times", type: "funnel", title: "Time to payment", x: 6, y: 12, ...place, show: "times" },
    ...{ steps: ['name:"Cart opened"', "name:Paid"], windowSeconds: 7 * 86_400 },
  },
  { ...{ id: "sticky", type: "stickiness", title: "How often", x: 0, y: 18, ...place }, q: "" },
  { ...{ id: "cycle", type: "lifecycle", title: "Who is new", x: 6, y: 18, ...place }, q: "" },
  { ...{ id: "names", type: "table", title: "Names", x: 6, y: 8, w: 6, h: 4 }, q: "", split: "name" },
];

beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(
    await dashboard.newContext({ viewport: { width: 1440, height: 1100 }, timezoneId: "UTC" }),
  ));
  const nowMs = Date.now();
  const event = (name: string, userId: string, daysAgo: number, tags: Record<string, string> = {}) => ({
    ...{ channel: "shop", name, userId, tags, createdAt: nowMs - daysAgo * dayMs },
  });
  await dashboard.post([
    event("Cart opened", "ada", 2.2),
    event("Paid", "ada", 2, { plan: "pro", amount: "20" }),
    event("Cart opened", "bo", 2.1),
    event("Paid", "bo", 1.9, { plan: "free", amount: "a lot" }),
    event("Cart opened", "cy", 1.5),
    event("Cart opened", "dan", 0.001),
    event("Signed in", "ada", 0.001),
    event("Signed out", "ada", 0.0005),
    // He began long before the period.
    event("Cart opened", "eve", 30),
    event("Cart opened", "eve", 1.2),
  ]);
  const response = await page.request.post(`${dashboard.address}/api/boards?project=default`, {
    data: { name: "Questions", tiles },
    headers: { origin: dashboard.address },
  });
  board = ((await response.json()) as { board: Board }).board;
}, 60_000);
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const tile = (name: string, by = page) => by.getByRole("region", { name, exact: true });
const path = () => `/p/default/boards/${board.id}`;
const rows = async (within: Page | Locator) =>
  (await within.getByRole("rowheader").allTextContents()).toSorted();
const untilListed = (...users: string[]) =>
  until(async () => JSON.stringify(await rows(page)) === JSON.stringify(users));
const open = async () => {
  await page.goto(dashboard.address + path());
  await tile("To payment").getByText("dropped out").waitFor();
};

test("who dropped out after a step is listed, with their events", async () => {
  await open();
  const funnel = tile("To payment");
  const dropOuts = funnel.getByRole("link", { name: /users, after “Cart opened”/ });
  expect(await dropOuts.textContent()).toStartWith("−80% dropped out · 4 users");
  await dropOuts.click();
  await page.getByRole("heading", { level: 1, name: "Dropped out after “Cart opened”" }).waitFor();
  await untilListed("bo", "cy", "dan", "eve");
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await until(
    async () => (await page.getByRole("listitem").filter({ hasText: "Cart opened" }).count()) === 4,
  );
  expect(complaints).toEqual([]);
});

test("paths are drawn, read as a table, and lead to the users of a step", async () => {
  await open();
  const paths = tile("After a cart");
  await paths.getByRole("group", { name: /^After a cart: 5 users with “Cart opened”/ }).waitFor();
  expect(await paths.locator("svg title").allTextContents()).toContain("Paid: 2 users");
  await paths.getByRole("button", { name: /^Menu of/ }).click();
  await page.getByRole("menuitem", { name: "Show as table" }).click();
  const row = paths.getByRole("row").filter({ hasText: "Nothing more" }).first();
  await row.getByText("Cart opened", { exact: true }).waitFor();
  await expectAccessible("paths as a table", page);
  await paths.getByRole("link", { name: /^2 users, Paid after Cart opened/ }).click();
  await page.getByRole("heading", { level: 1, name: "“Paid”, 1 event after “Cart opened”" }).waitFor();
  await untilListed("ada", "bo");
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await until(async () => (await page.getByRole("listitem").filter({ hasText: "Paid" }).count()) === 2);
  expect(complaints).toEqual([]);
});

test("the keyboard reaches each part of paths, with its name, and leads to the same users as the mouse", async () => {
  await open();
  const paths = tile("After a cart");
  const diagram = paths.getByRole("group", { name: /^After a cart/ });
  const links = diagram.getByRole("link");
  await links.first().waitFor();
  const names = await links.evaluateAll((all) =>
    all
      .toSorted((a, b) => Number(a.getAttribute("data-order")) - Number(b.getAttribute("data-order")))
      .map((link) => link.getAttribute("aria-label")),
  );
  expect(names).toContain("Cart opened → Paid: 2 users, 40% of Cart opened");
  const focused = () => page.locator(":focus").getAttribute("aria-label");
  await paths.getByRole("button", { name: /^Menu of/ }).focus();
  await page.keyboard.press("Tab");
  const reached = [await focused()];
  for (let count = 1; count < names.length; count++) {
    await page.keyboard.press(count % 2 === 0 ? "ArrowDown" : "ArrowRight");
    reached.push(await focused());
  }
  expect(reached).toEqual(names);
  await page.keyboard.press("Home");
  expect(await focused()).toBe("Cart opened: 5 users");
  // Who looks at the screen reads what has the focus.
  await paths.getByText("Cart opened: 5 users", { exact: true }).last().waitFor();
  expect(await page.evaluate('getComputedStyle(document.querySelector(":focus > rect")).outlineStyle')).toBe(
    "solid",
  );
  await expectAccessible("paths with the focus on a node", page);
  await page.keyboard.press("Tab");
  expect(names).not.toContain(await focused());
  await page.keyboard.press("Shift+Tab");
  while ((await focused()) !== "Cart opened → Paid: 2 users, 40% of Cart opened")
    await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "“Paid”, 1 event after “Cart opened”" }).waitFor();
  await untilListed("ada", "bo");
  await page.goBack();
  await diagram
    .getByRole("link", { name: "Cart opened → Paid: 2 users, 40% of Cart opened" })
    .click({ force: true });
  await page.getByRole("heading", { level: 1, name: "“Paid”, 1 event after “Cart opened”" }).waitFor();
  await untilListed("ada", "bo");
  expect(complaints).toEqual([]);
});

test("times, stickiness and new users lead to the users that they count", async () => {
  await open();
  const times = tile("Time to payment");
  await times.getByText("median 4.8 h · 90% within 4.8 h").waitFor();
  await times.getByRole("link", { name: /took “Paid” then/ }).click();
  await page
    .getByRole("heading", { level: 1, name: "Took the step “Paid” 2 – 6 h after the one before" })
    .waitFor();
  await untilListed("ada", "bo");

  await open();
  await tile("How often").getByText("DAU/WAU").waitFor();
  await expectAccessible("stickiness", page);
  await tile("How often")
    .getByRole("link", { name: /were active on so many days/ })
    .first()
    .click();
  await page.getByRole("heading", { level: 1, name: /^Active on \d days?$/ }).waitFor();
  await page.getByRole("rowheader").first().waitFor();

  await open();
  const slider = tile("Who is new").getByRole("slider");
  await slider.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: /^All users/ }).click();
  await page.getByRole("heading", { level: 1, name: /^Active on / }).waitFor();
  await until(async () => (await rows(page)).includes("dan"));
  await open();
  await slider.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Write a note…" }).click();
  await page.getByRole("dialog").getByLabel("Note").fill("Campaign");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  const newestText = async () => {
    await slider.focus();
    await page.keyboard.press("End");
    return (await slider.getAttribute("aria-valuetext"))!;
  };
  await until(async () => (await newestText()).includes("Marked: Campaign"));
  await tile("Who is new")
    .getByRole("button", { name: /^Menu of/ })
    .click();
  await page.getByRole("menuitem", { name: "Show as table" }).click();
  await tile("Who is new").getByRole("columnheader", { name: "Returning" }).waitFor();
  expect(complaints).toEqual([]);
});

longTest("a list of users has an address for other members, and is accessible", async () => {
  await open();
  await expectAccessible("a board with a funnel", page);
  const dropped = tile("To payment").getByRole("link", { name: /users, after “Cart opened”/ });
  await dropped.click();
  await untilListed("bo", "cy", "dan", "eve");
  await expectAccessible("users who dropped out", page);
  const { pathname, search } = new URL(page.url());
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.getByText("Each user has one event here: the one that took the step.").waitFor();
  await expectAccessible("events of users who dropped out", page);
  const viewer = await dashboard.openAs("viewer", pathname + search);
  await viewer.getByText("4 users").waitFor();
  await viewer.getByRole("link", { name: "cy" }).click();
  await viewer.waitForURL(/\/users\/cy$/);
  await viewer.context().close();
});

longTest(
  "steps, cohorts, numbers and rows lead to their users and events",
  async () => {
    await open();
    await tile("To payment")
      .getByRole("link", { name: /took “Paid for Pro”/ })
      .click();
    await page.getByRole("heading", { level: 1, name: "Took the step “Paid for Pro”" }).waitFor();
    await untilListed("ada");

    await open();
    // Nobody who began before is new.
    const cohorts = tile("Back").getByRole("table");
    await cohorts.getByText("By the week of their first event in “shop” ever").waitFor();
    await cohorts
      .getByRole("link", { name: /users began in this week/ })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: /^Began in the week of/ }).waitFor();
    await page.getByRole("rowheader").first().waitFor();
    expect(await rows(page)).not.toContain("eve");

    await open();
    await tile("Buyers").getByRole("link", { name: "2 (Users): show what is counted" }).click();
    await untilListed("ada", "bo");
    // All of their events are the feed's, and back.
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await until(async () => (await page.getByRole("article").count()) === 2);
    await page.getByRole("main").getByRole("link", { name: "Users", exact: true }).click();
    await page.getByText("2 users").waitFor();

    await open();
    await tile("Revenue")
      .getByRole("link", { name: /^20 \(Sum of amount\)/ })
      .click();
    // Only the number counts, not the text.
    await until(async () => (await page.getByRole("article").count()) === 1);

    await open();
    await tile("Names").getByRole("link", { name: "2 (Paid): show the users" }).click();
    await page.getByText("2 users").waitFor();
    await open();
    await tile("Names").getByRole("link", { name: "Paid", exact: true }).click();
    await until(async () => (await page.getByRole("article").count()) === 2);
    expect(complaints).toEqual([]);
  },
  120_000,
);

longTest(
  "a bar leads to its events and users, with the mouse and the keyboard; the last one is so far",
  async () => {
    await open();
    const chart = tile("By name").getByRole("slider");
    await chart.focus();
    await page.keyboard.press("End");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/, so far: .*total 3/);
    await page.keyboard.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuetext")).not.toContain("so far");
    await page.keyboard.press("ArrowLeft");
    const text = (await chart.getAttribute("aria-valuetext"))!;
    await page.keyboard.press("Enter");
    const menu = page.getByRole("menu");
    await menu.waitFor();
    await expectAccessible("the menu of a bar", page);
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    await until(() => chart.evaluate((element) => element === element.ownerDocument.activeElement));
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await menu.getByRole("menuitem", { name: "All events" }).click();
    const total = Number(/total (\d+)/.exec(text)![1]);
    await until(async () => (await page.getByRole("article").count()) === total);

    await open();
    const plot = (await tile("By name").locator(".u-over").boundingBox())!;
    await page.mouse.move(plot.x + plot.width * 0.93, plot.y + 20);
    await tile("By name").getByText("so far").waitFor();
    await tile("By name").getByText("Total 3").waitFor();
    await page.mouse.click(plot.x + plot.width * 0.93, plot.y + 20);
    await menu.getByRole("menuitem", { name: "All users" }).click();
    await untilListed("ada", "dan");
  },
  60_000,
);

longTest("a public board has the names of steps, and leads nowhere", async () => {
  const response = await page.request.post(
    `${dashboard.address}/api/boards/${board.id}/link?project=default`,
    {
      headers: { origin: dashboard.address },
    },
  );
  const { link } = (await response.json()) as { link: string };
  const visitor = await dashboard.browser.newPage();
  await visitor.goto(dashboard.address + new URL(link).pathname);
  const funnel = tile("To payment", visitor);
  await funnel.getByText("Paid for Pro").waitFor();
  await funnel.getByText("Cart opened").waitFor();
  await funnel.getByText("−80% dropped out").waitFor();
  await tile("Back", visitor).getByText("By the week of their first matching event ever").waitFor();
  await tile("By name", visitor).getByRole("slider").waitFor();
  expect(await visitor.getByRole("main").getByRole("link").count()).toBe(0);
  await expectAccessible("a public board with a funnel", visitor);
  await visitor.close();
});

longTest(
  "days are chosen in a calendar with the keyboard, in the project's time zone",
  async () => {
    const setZone = (timeZone: string | null) =>
      page.request.patch(`${dashboard.address}/api/projects/default`, {
        data: { timeZone },
        headers: { origin: dashboard.address },
      });
    // 13 or 14 hours ahead of UTC.
    await setZone("Pacific/Auckland");
    await open();
    await page.keyboard.press("t");
    await page.getByRole("menuitem", { name: "Choose days" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Choose days" });
    await dialog.getByText("In the project's time zone, Pacific/Auckland.").waitFor();
    await expectAccessible("a calendar", page);
    const today = dialog.locator('[aria-current="date"]');
    const expected = new Intl.DateTimeFormat("en", { timeZone: "Pacific/Auckland", day: "numeric" }).format();
    expect(await today.textContent()).toBe(expected);
    await dialog.getByLabel("Last day").fill("2026-03-15");
    const focused = () => page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
    await dialog.getByRole("button", { name: "Sunday, March 15, 2026" }).focus();
    await page.keyboard.press("ArrowUp");
    await until(async () => (await focused()) === "Sunday, March 8, 2026");
    await page.keyboard.press("Home");
    await until(async () => (await focused()) === "Monday, March 2, 2026");
    await page.keyboard.press("Enter");
    await page.keyboard.press("PageDown");
    await until(async () => (await focused()) === "Thursday, April 2, 2026");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/from=2026-03-02&to=2026-04-03/);
    await page.getByRole("button", { name: "Time: Mar 2 – Apr 3" }).waitFor();
    // The feed's days begin then, too.
    await page.goto(`${dashboard.address}/p/default?range=today`);
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.url().includes("/api/stats?")),
      page.reload(),
    ]);
    const from = new URL(request.url()).searchParams;
    expect(from.get("timeZone")).toBe("Pacific/Auckland");
    const clock = new Intl.DateTimeFormat("en", {
      timeZone: "Pacific/Auckland",
      timeStyle: "short",
      hourCycle: "h23",
    });
    expect(clock.format(new Date(from.get("from")!))).toBe("00:00");
    await setZone(null);
  },
  60_000,
);

longTest("a project's time zone is found by a part of its name", async () => {
  await page.goto(`${dashboard.address}/p/default/settings`);
  const field = page.getByRole("combobox", { name: "Time zone" });
  await field.click();
  await field.fill("new yo");
  await page.getByRole("option", { name: /America\/New York/ }).waitFor();
  await expectAccessible("a list of time zones", page);
  await page.keyboard.press("Enter");
  expect(await field.inputValue()).toBe("America/New_York");
  const form = page.locator("form").filter({ has: field });
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("Saved").waitFor({ state: "attached" });
  await field.click();
  await field.fill("nowhere");
  await page.getByText("No time zone has that name.").waitFor();
  await page.keyboard.press("Escape");
  expect(await field.inputValue()).toBe("America/New_York");
  await field.click();
  await page.getByRole("option", { name: /Each person's own/ }).click();
  await form.getByRole("button", { name: "Save" }).click();
  await until(async () => {
    const response = await page.request.get(`${dashboard.address}/api/projects`);
    return ((await response.json()) as { projects: { timeZone: null }[] }).projects[0]!.timeZone === null;
  });
});

longTest("the tile's editor says once and in its own words what is wrong", async () => {
  await open();
  await page.keyboard.press("e");
  await page.getByRole("button", { name: "Add tile" }).click();
  const dialog = page.getByRole("dialog", { name: "New tile" });
  await dialog.getByLabel("Show", { exact: true }).selectOption("sum");
  await dialog.getByText("Enter the tag to compute it from.").waitFor();
  expect(await dialog.getByRole("alert").count()).toBe(0);
  await dialog.getByLabel("Split by").selectOption("tag");
  await dialog.getByLabel("Tag", { exact: true }).fill("amount");
  await dialog.getByText("Enter the tag to split by.").waitFor();
  await dialog.getByLabel("Tag to split by").fill("plan");
  await dialog.getByRole("slider").waitFor();
  await dialog.getByLabel("Series").fill("99");
  await until(async () => (await dialog.getByRole("alert").count()) === 1);
  expect(await dialog.getByRole("alert").textContent()).toBe('"Series" must be at most 10.');
  expect(await dialog.textContent()).not.toContain("tile.");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  complaints.splice(0);
});

longTest("a name has the same color with a filter and without, and an empty time has no bars", async () => {
  const mark = async (name: string) => {
    const item = page
      .getByRole("list", { name: "Legend" })
      .getByRole("button", { name: new RegExp(`^${name}`) });
    await item.waitFor();
    return item.locator("path").evaluate((path) => `${path.getAttribute("d")} ${path.getAttribute("fill")}`);
  };
  await page.goto(`${dashboard.address}/p/default?split=name`);
  const all = [
    await mark("Cart opened"),
    await mark("Paid"),
    await mark("Signed in"),
    await mark("Signed out"),
  ];
  expect(new Set(all).size).toBe(4);
  const search = page.getByLabel("Search and filter");
  await search.fill('name:Paid OR name:"Signed out"');
  await page.keyboard.press("Enter");
  await page.getByText("3 matches").waitFor();
  expect([await mark("Paid"), await mark("Signed out")]).toEqual([all[1]!, all[3]!]);
  await page.goto(`${dashboard.address}/p/default?q=nothing-like-this`);
  await page.getByText("No events", { exact: true }).waitFor();
  expect(await page.getByRole("slider", { name: /^Events over time/ }).count()).toBe(0);
});

longTest("deliveries and the audit log are of the time that is chosen", async () => {
  for (const [name, request] of [
    ["deliveries", "/api/deliveries?"],
    ["audit", "/api/audit?"],
  ] as const) {
    await page.goto(`${dashboard.address}/p/default/${name}?range=30d`);
    await page.getByRole("button", { name: /^Time:/ }).click();
    const [asked] = await Promise.all([
      page.waitForRequest((each) => each.url().includes(request) && each.url().includes("to=")),
      page.getByRole("menuitem", { name: "Yesterday" }).click(),
    ]);
    const { searchParams } = new URL(asked.url());
    const [from, to] = ["from", "to"].map((each) => Date.parse(searchParams.get(each)!)) as [number, number];
    expect(to - from).toBe(dayMs);
    expect(to % dayMs).toBe(0);
  }
});

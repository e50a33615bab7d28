// @long
/**
 * A day's work by keyboard alone. Wherever Tab leads, the focus is visible; what closes gives the focus back; nothing
 * traps it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { patienceMs } from "../testing/engine.ts";
import { testPassword } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { openDashboard, ownerEmail, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  const startMs = Date.now() - 600_000;
  await dashboard.post(
    Array.from({ length: 30 }, (_, index) => ({
      channel: index < 8 ? `channel-${index}` : index % 2 ? "orders" : "payments",
      name: `Number ${index}`,
      userId: `cus_${index % 3}`,
      tags: { plan: index % 3 ? "free" : "pro", amount: `${index}` },
      createdAt: startMs + index * 10_000,
    })),
  );
  await dashboard.post({ channel: "payments", name: "Payment failed", notify: true, tags: { plan: "pro" } });
  await fetch(`${dashboard.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: JSON.stringify({ channel: "payments", name: "Sent wrongly", tags: { amount: 12 } }),
  });
  const context = await dashboard.browser.newContext({ viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(patienceMs);
  page = await context.newPage();
});

afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const tabsMax = 150;
const press = (...keys: string[]) =>
  keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
const type = (text: string) => page.keyboard.type(text);
const heading = (name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
const dialog = (name: string | RegExp) => page.getByRole("dialog", { name });
const article = (text: string) => page.getByRole("article").filter({ hasText: text }).first();

type Focus = { name: string; isVisible: boolean; isInView: boolean };

/** The focused element: what it is called, whether its focus is shown, and whether it is on the screen. */
function focus(): Promise<Focus> {
  return page.evaluate<Focus>(`(() => {
    const at = document.activeElement;
    const name = at === document.body ? "nothing"
      : at.ariaLabel || at.labels?.[0]?.textContent || at.getAttribute("aria-labelledby")?.split(" ")
        .map((id) => document.getElementById(id)?.textContent).join(" ") || at.textContent || at.id || at.tagName;
    const shows = (element, pseudo) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element, pseudo);
      return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    };
    const { top, left, bottom, right } = at.getBoundingClientRect();
    const isText = at.matches("[cmdk-input]");
    return {
      name: name.trim().replace(/\\s+/g, " ").slice(0, 60),
      isVisible: isText || at.matches("[data-highlighted], main, [role=menu], [role=dialog]") || shows(at) || shows(at, "::after") || shows(at.parentElement),
      isInView: bottom > 0 && right > 0 && top < innerHeight && left < innerWidth,
    };
  })()`);
}

const matches = (name: string, wanted: string | RegExp) =>
  typeof wanted === "string" ? name === wanted : wanted.test(name);
async function untilFocused(name: string | RegExp): Promise<void> {
  let at = await focus();
  const isReached = async () => {
    at = await focus();
    return matches(at.name, name);
  };
  await until(isReached).catch(() => {
    throw new Error(`The focus is on ${at.name}, not on ${name}.`);
  });
}

/** Presses Tab until an element of this name has the focus. Everything on the way must show that it has it. */
async function tabTo(name: string | RegExp, key = "Tab"): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < tabsMax; presses++) {
    await press(key);
    const at = await focus();
    passed.push(at.name);
    if (at.name !== "nothing")
      expect({ ...at, passed }).toEqual({ name: at.name, isVisible: true, isInView: true, passed });
    if (matches(at.name, name)) return;
  }
  throw new Error(`Tab doesn't lead to ${name}, but to ${passed.join(", ")}.`);
}

async function goTo(words: string): Promise<void> {
  await press("Control+k");
  await dialog("Search and commands").waitFor();
  await type(words);
  await until(async () =>
    (await page.locator("[cmdk-item][data-selected=true]").textContent())!
      .toLowerCase()
      .includes(words.toLowerCase()),
  );
  await press("Enter");
  await dialog("Search and commands").waitFor({ state: "detached" });
}

test("sign in, and around the feed without a trap", async () => {
  await page.goto(`${dashboard.address}/sign-in`);
  await untilFocused("Email");
  await type(ownerEmail);
  await tabTo("Password");
  await type(testPassword);
  await press("Enter");
  await article("Payment failed").waitFor();
  await tabTo("Skip to content");
  await press("Enter");
  await tabTo(/^Pause the feed/);
  await tabTo("Skip to content");
  await tabTo("Skip to content", "Shift+Tab");
});

test("channels are found, opened and left", async () => {
  await press("c");
  await untilFocused("Filter channels");
  await type("ord");
  await press("Enter");
  await heading("orders");
  await tabTo(/^orders/, "Shift+Tab");
  await press("ArrowDown");
  await untilFocused(/^payments/);
  await press("Enter");
  await heading("payments");
  await press("ArrowRight");
  await untilFocused("Actions for payments");
  await press("Enter");
  await page.getByRole("menuitem", { name: "Pin" }).waitFor();
  await press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  await untilFocused("Actions for payments");
});

test("search with completion, open an event, filter by its tag, save the view", async () => {
  await press("/");
  await untilFocused("Search and filter");
  await type("plan=p");
  await page.getByRole("option", { name: /^pro/ }).waitFor();
  await press("ArrowDown");
  // The list may still be the one for less of the text.
  await page.getByRole("option", { name: /^pro/, selected: true }).waitFor();
  await press("Enter");
  await until(async () => (await page.getByLabel("Search and filter").inputValue()).trim() === "plan=pro");
  await press("Enter");
  await page.getByRole("button", { name: /^Remove filter:.*pro$/ }).waitFor();
  await tabTo(/^Remove filter:.*pro$/, "Shift+Tab");
  await press("Enter");
  await page.getByRole("button", { name: /^Remove filter:/ }).waitFor({ state: "detached" });
  await untilFocused("Search and filter");
  // Escape first closes the list of recent searches.
  await press("Escape", "Escape");

  await press("j", "j");
  await untilFocused("Number 28");
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Number 28" }).waitFor();
  await press("k");
  await page.getByRole("heading", { level: 1, name: "Payment failed" }).waitFor();
  await tabTo("Close event");
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Payment failed" }).waitFor({ state: "detached" });
  await untilFocused("Payment failed");
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Payment failed" }).waitFor();
  await tabTo("Mute");
  await press("Enter");
  await untilFocused("What to mute");
  await tabTo("30 minutes");
  await press("Enter");
  await untilFocused("Mute");
  await tabTo("pro");
  await press("Enter");
  await page.waitForURL(/tag\.plan=pro/);
  await article("Number 27").waitFor();
  await until(async () => (await focus()).name !== "nothing");

  await tabTo("Save view");
  await press("Enter");
  await dialog("Save view").waitFor();
  await untilFocused("Name");
  await type("Paying");
  await press("Enter");
  await dialog("Save view").waitFor({ state: "detached" });
  await heading("Paying");
  await until(async () => (await focus()).name !== "nothing");
});

test("choose a time, and zoom the histogram", async () => {
  await goTo("All events");
  await heading("All events");
  await press("t");
  await page.getByRole("menuitem", { name: "Last hour" }).waitFor();
  const lastHour = page.locator("[data-highlighted]").filter({ hasText: /^Last hour$/ });
  await until(async () => {
    await press("ArrowDown");
    return (await lastHour.count()) > 0;
  });
  await press("Enter");
  await page.waitForURL(/range=1h/);
  await untilFocused(/^Time: /);
  await tabTo(/^Events over time/);
  await page
    .locator('[aria-busy="false"]')
    .filter({ has: page.getByRole("slider") })
    .waitFor();
  await press("End", "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter");
  await page.waitForURL(/from=.*to=/);
  await untilFocused(/^Events over time/);
  await press("Escape");
  await page.waitForURL(/range=1h/);
});

test("a board: add a tile, move it, save", async () => {
  await goTo("Board ");
  await page.getByRole("region", { name: "Events", exact: true }).waitFor();
  await press("e");
  await page.getByLabel("Name of the board").waitFor();
  await tabTo("Add tile");
  await press("Enter");
  await dialog("New tile").waitFor();
  await tabTo("Title");
  await type("Paid orders");
  await tabTo("Events that match");
  await type("channel:orders");
  await tabTo("Add tile");
  await press("Enter");
  await dialog("New tile").waitFor({ state: "detached" });
  await untilFocused("Add tile");
  await tabTo("Move Paid orders");
  await press("ArrowRight");
  await page
    .getByRole("status")
    .filter({ hasText: /^Paid orders: column/ })
    .waitFor();
  await tabTo("Save", "Shift+Tab");
  await press("Enter");
  await page.getByLabel("Name of the board").waitFor({ state: "detached" });
  await untilFocused("Edit");
  await page.getByRole("region", { name: "Paid orders" }).waitFor();
  await press("f");
  await page.locator(".board-wall").waitFor();
  await press("Escape");
  await page.locator(".board-wall").waitFor({ state: "detached" });
});

test("a user, and the bell", async () => {
  await goTo("Users");
  await heading("Users");
  await tabTo("Find users");
  await type("cus_1");
  await until(async () => (await page.getByRole("row").count()) === 2);
  await tabTo("cus_1");
  await press("Enter");
  await heading("cus_1");
  await until(async () => (await focus()).name !== "nothing");
  await tabTo(/^Notifications/);
  await press("Enter");
  await dialog("Notifications").waitFor();
  await tabTo(/^Mark all as read/);
  await press("Escape");
  await dialog("Notifications").waitFor({ state: "detached" });
  await untilFocused(/^Notifications/);
});

test("a rejected event is mended and sent again", async () => {
  await goTo("Rejected events");
  await heading("Rejected events");
  await tabTo("Fix and resend");
  await press("Enter");
  await dialog("Fix and resend").waitFor();
  await untilFocused("Event (JSON)");
  await press("Control+a");
  await page.keyboard.insertText('{"channel":"payments","name":"Sent rightly","tags":{"amount":"12"}}');
  await tabTo("Resend");
  await press("Enter");
  await dialog("Fix and resend").waitFor({ state: "detached" });
  await page.getByText("No rejected events").waitFor();
  await until(async () => (await focus()).name !== "nothing");
});

test("the help, and sign out", async () => {
  await press("?");
  await dialog("Keyboard shortcuts").waitFor();
  await press("Escape");
  await dialog("Keyboard shortcuts").waitFor({ state: "detached" });
  await goTo("Sign out");
  await page.waitForURL(/\/sign-in/);
  await untilFocused("Email");
});

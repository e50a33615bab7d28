// @long
/** Rules about metrics in a real browser: written with a preview, shown with their line, and begun from a tile. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import type { Rule } from "../schemas/rule.ts";

const path = "/p/default/rules";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(await dashboard.newContext({ timezoneId: "Europe/Berlin" })));
  const createdAt = new Date(Date.now() - 30 * 60_000).toISOString();
  for (const ms of ["200", "900"])
    await dashboard.post({ channel: "checkout", name: "Paid", tags: { ms }, createdAt });
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const dialog = () => page.getByRole("dialog");
const preview = () => page.getByRole("region", { name: "Preview" });
const item = (name: string) =>
  page.getByRole("list", { name: "Rules" }).getByRole("listitem").filter({ hasText: name });

async function rules(): Promise<Rule[]> {
  const response = await page.request.get(`${dashboard.address}/api/rules?project=default`);
  return ((await response.json()) as { rules: Rule[] }).rules;
}

test("a metric is written with a preview of its line", async () => {
  await page.goto(dashboard.address + path);
  await page.getByRole("button", { name: "New rule" }).click();
  await dialog().getByLabel("Name").fill("Slow checkout");
  await dialog().getByLabel("Events that match").fill("channel:checkout");
  await dialog().getByRole("radio", { name: "Metric" }).check();
  await dialog().getByLabel("Measure").selectOption("average");
  await dialog().getByLabel("Tag", { exact: true }).fill("ms");
  await preview().getByText("Fill in the fields").waitFor();
  await dialog().getByLabel("Threshold").fill("500");
  await dialog().getByLabel("Ends at").fill("400");
  await dialog().getByLabel("For minutes").fill("5");
  await preview().getByText("Would have alerted once in the last 30 days.").waitFor();
  await preview().getByRole("slider", { name: "The metric over time" }).waitFor();
  expect(await preview().getByRole("list", { name: "Latest alerts" }).getByRole("listitem").count()).toBe(1);
  await expectAccessible("a rule about a metric", page);
  await dialog().getByRole("button", { name: "Create rule" }).click();
  await item("Slow checkout")
    .getByText(
      "If the average of ms in events matching channel:checkout, over 1 hour, is above 500 for 5 minutes, to everyone",
    )
    .waitFor();
  expect((await rules()).at(-1)!.when).toEqual({
    type: "metric",
    measure: { metric: "average", tag: "ms" },
    minutes: 60,
    against: null,
    above: 500,
    clear: 400,
    pendingMinutes: 5,
    noData: "ok",
  });
});

test("each measure and comparison has its fields", async () => {
  await page.goto(dashboard.address + path);
  await chooseAction(page, "Slow checkout", "Edit…");
  await dialog().getByLabel("Measure").selectOption("ratio");
  await dialog().getByLabel("In percent of").fill("channel:checkout");
  await dialog().getByLabel("Look at").selectOption("week");
  await dialog().getByLabel("Alert", { exact: true }).selectOption("change");
  await dialog().getByLabel("Threshold (%)").fill("50");
  await dialog().getByLabel("Ends at").fill("20");
  await dialog().getByLabel("Alert without a value").check();
  await preview().getByText("Would not have alerted").or(preview().getByText("Would have alerted")).waitFor();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  expect((await rules()).at(-1)!.when).toMatchObject({
    measure: { metric: "ratio", of: "channel:checkout" },
    against: "week",
    change: 50,
    clear: 20,
    noData: "alert",
  });
  await chooseAction(page, "Slow checkout", "Edit…");
  expect(await dialog().getByLabel("Threshold (%)").inputValue()).toBe("50");
  await dialog().getByLabel("Measure").selectOption("conversion");
  await dialog().getByLabel("Step 1").fill("name:Visit");
  await dialog().getByLabel("Step 2").fill("name:Paid");
  await dialog().getByRole("button", { name: "Add step" }).click();
  await dialog().getByLabel("Step 3").fill("name:Thanks");
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  expect((await rules()).at(-1)!.when).toMatchObject({
    measure: {
      metric: "conversion",
      steps: ["name:Visit", "name:Paid", "name:Thanks"],
      windowSeconds: 604_800,
    },
  });
});

test("its page shows the line, how it stands and its alerts", async () => {
  await page.goto(dashboard.address + path);
  await chooseAction(page, "Slow checkout", "Show");
  await page.getByRole("heading", { name: "Slow checkout" }).waitFor();
  await page.getByText("Not read yet").waitFor();
  await page.getByRole("slider", { name: "The metric over time" }).waitFor();
  await page.getByRole("button", { name: "30 days" }).click();
  await page.getByRole("slider", { name: "The metric over time" }).waitFor();
  await page.getByText("The rule has opened no alert.").waitFor();
  await expectAccessible("a metric's page", page);
  await page.goto(`${dashboard.address + path}/unknown`);
  await page.getByText("There is no such rule").waitFor();
});

test("a tile leads to a rule with its measure", async () => {
  const tile = { id: "a", type: "line", title: "Times", x: 0, y: 0, w: 6, h: 4 };
  const created = await page.request.post(`${dashboard.address}/api/boards?project=default`, {
    data: {
      name: "Shop",
      tiles: [{ ...tile, q: "channel:checkout", metric: "maximum", tag: "ms", split: "name" }],
    },
    headers: { origin: dashboard.address },
  });
  const { board } = (await created.json()) as { board: { id: string } };
  await page.goto(`${dashboard.address}/p/default/boards/${board.id}`);
  await page.getByRole("button", { name: "Menu of Times" }).click();
  await page.getByRole("menuitem", { name: "Alert on this…" }).click();
  expect(await dialog().getByLabel("Name").inputValue()).toBe("Times");
  expect(await dialog().getByLabel("Events that match").inputValue()).toBe("channel:checkout");
  expect(await dialog().getByLabel("Measure").inputValue()).toBe("maximum");
  expect(await dialog().getByLabel("Follow").inputValue()).toBe("name");
  await dialog().getByLabel("Threshold").fill("500");
  await preview().getByText("Would have alerted once").waitFor();
  await dialog().getByRole("button", { name: "Create rule" }).click();
  await dialog().waitFor({ state: "detached" });
  expect((await rules()).at(-1)).toMatchObject({
    name: "Times",
    forEach: "name",
    when: { measure: { metric: "maximum", tag: "ms" }, above: 500 },
  });
  // The browser reports the unknown rule as an error of the network.
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

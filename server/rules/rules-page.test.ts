/** Rules in a real browser: create with a preview, edit, turn off, delete; and what a viewer sees. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import type { Rule } from "../schemas/rule.ts";
import { longTest } from "../testing/long-test.ts";

const path = "/p/default/rules";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(await dashboard.newContext({ timezoneId: "Europe/Berlin" })));
  await dashboard.post({ channel: "payments", name: "Payment failed" });
  await dashboard.post({ channel: "payments", name: "Payment received" });
  await dashboard.post({ channel: "backups", name: "Backup done" });
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const item = (name: string, by = page) =>
  by.getByRole("list", { name: "Rules" }).getByRole("listitem").filter({ hasText: name });
const preview = () => page.getByRole("region", { name: "Preview" });
const dialogClosed = () => page.getByRole("dialog").waitFor({ state: "detached" });

async function rules(): Promise<Rule[]> {
  const response = await page.request.get(`${dashboard.address}/api/rules?project=default`);
  return ((await response.json()) as { rules: Rule[] }).rules;
}

async function post(to: string, data: object): Promise<void> {
  const response = await page.request.post(`${dashboard.address}${to}?project=default`, {
    data,
    headers: { origin: dashboard.address },
  });
  expect(response.status()).toBe(201);
}

test("the first rule is the one for events with notify; without rules, the page says what they are for", async () => {
  await page.goto(dashboard.address + path);
  const [flag] = await rules();
  await item(flag!.name).getByText("Each event matching notify:true, to everyone").waitFor();
  await chooseAction(page, flag!.name, "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete this rule?" });
  await dialog.waitFor();
  await expectAccessible("the question before a deletion", page);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No rules, no notifications").waitFor();
  await expectAccessible("no rules", page);
});

test("a rule is written by keyboard, with completion and a preview that follows", async () => {
  await page.goto(dashboard.address + path);
  await page.getByRole("button", { name: "New rule" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
  await preview().getByText("Would have notified 3 times in the last 7 days:").waitFor();
  await expectAccessible("a new rule", page);
  await page.keyboard.type("Payments");
  await page.keyboard.press("Tab");
  await page.keyboard.type("channel:pay");
  await page.getByRole("option", { name: "payments" }).waitFor();
  // Closes the suggestions, not the dialog.
  await page.keyboard.press("Escape");
  await page.getByRole("option", { name: "payments" }).waitFor({ state: "detached" });
  await page.keyboard.type("m");
  await page.getByRole("option", { name: "payments" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await preview().getByText("Would have notified 2 times in the last 7 days:").waitFor();
  await preview().getByText("Payment failed").waitFor();
  await page.getByLabel("Name").focus();
  await page.keyboard.press("Enter");
  await item("Payments").getByText("Each event matching channel:payments, to everyone").waitFor();
  await expectAccessible("rules", page);
});

test("an error of the search is at its field", async () => {
  await page.goto(dashboard.address + path);
  await page.getByRole("button", { name: "New rule" }).click();
  await page.getByLabel("Name").fill("Wrong");
  const search = page.getByLabel("Events that match");
  await search.fill("(paid");
  await preview().getByText("The preview appears when the search is valid.").waitFor();
  await page.getByRole("alert").filter({ hasText: 'This "(" is not closed.' }).waitFor();
  await page.getByRole("button", { name: "Create rule" }).click();
  expect(await page.getByRole("alert").count()).toBe(1);
  expect(await search.getAttribute("aria-invalid")).toBe("true");
  await search.fill("");
  await page.getByLabel("Everyone").uncheck();
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByText("The rule must name somebody").waitFor();
  await expectAccessible("a rule with an error", page);
  await page.getByRole("button", { name: "Cancel" }).click();
  await dialogClosed();
});

test("each type of rule has its fields, and is told in a sentence", async () => {
  await post("/api/project-destinations", {
    kind: "slack",
    name: "Slack #ops",
    settings: { url: "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijkl" },
  });
  await page.goto(dashboard.address + path);
  const dialog = page.getByRole("dialog");
  async function create(name: string, type: string, fill: () => Promise<void>, sentence: string) {
    await page.getByRole("button", { name: "New rule" }).click();
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByRole("radio", { name: type }).check();
    await fill();
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await item(name).getByText(sentence).waitFor();
    await dialogClosed();
  }
  await create(
    "Backup missing",
    "Silence",
    async () => {
      await dialog.getByLabel("Events that match").fill('name:"Backup done"');
      await dialog.getByLabel("No event for").fill("26");
      await dialog.getByLabel("Everyone").uncheck();
      await dialog.getByLabel("Slack #ops").check();
      await dialog.getByLabel("owner@example.com").check();
      await dialog.getByLabel("Urgent").check();
    },
    'If no event matching name:"Backup done" comes for 26 hours, to Slack #ops and owner',
  );
  await item("Backup missing").getByText("Urgent", { exact: true }).waitFor();
  await create(
    "Summaries",
    "Bursts",
    () => dialog.getByLabel("A summary every").fill("10"),
    "The first event, then a summary every 10 minutes, to everyone",
  );
  await create(
    "Morning",
    "Digest",
    async () => {
      await dialog.getByLabel("Every", { exact: true }).selectOption("week");
      await dialog.getByLabel("On", { exact: true }).selectOption("Friday");
    },
    "A digest of events each Friday at 8:00 AM (Europe/Berlin), to everyone",
  );
  await create(
    "Too many",
    "Count",
    async () => {
      await preview().getByText("Fill in the fields").waitFor();
      await dialog.getByLabel("More events than").fill("1");
      await preview().getByText("Would have notified once").waitFor();
      await dialog.getByLabel("Within").fill("2");
      await dialog.getByLabel("Unit").selectOption("days");
    },
    "If more than 1 event come within 2 days, to everyone",
  );
  await create(
    "Large",
    "Number",
    async () => {
      await dialog.getByLabel("Tag", { exact: true }).fill("amount");
      await dialog.getByLabel("Above").fill("99.5");
    },
    "Each event whose amount is above 99.5, to everyone",
  );
  expect((await rules()).map(({ when }) => when).slice(-5)).toEqual([
    { type: "silence", minutes: 1_560 },
    { type: "burst", minutes: 10 },
    { type: "digest", every: "week", at: "08:00", weekday: "friday", timeZone: "Europe/Berlin" },
    { type: "count", above: 1, minutes: 2_880 },
    { type: "number", tag: "amount", above: 99.5 },
  ]);
});

test("a rule for each value lists them, and forgets one", async () => {
  await page.goto(dashboard.address + path);
  await page.getByRole("button", { name: "New rule" }).click();
  await page.getByLabel("Name").fill("Backups");
  await page.getByRole("radio", { name: /^Silence/ }).check();
  await page.getByLabel("Follow", { exact: true }).selectOption({ label: "each value of a tag" });
  await page.getByLabel("Tag to follow").fill("service");
  await page.getByLabel("Group alerts by tag").fill("host");
  await expectAccessible("a rule for each value", page);
  await page.getByRole("button", { name: "Create rule" }).click();
  await item("Backups").getByText("for each value of service, to everyone").waitFor();
  expect((await rules()).find(({ name }) => name === "Backups")).toMatchObject({
    forEach: "tag.service",
    forgetDays: 30,
    groupBy: "tag.host",
  });
  for (const service of ["billing", "search"])
    await dashboard.post({ channel: "jobs", name: "Backup done", tags: { service } });
  await chooseAction(page, "Backups", "Values…");
  const dialog = page.getByRole("dialog", { name: "Values of Backups" });
  await dialog.getByText("The rule follows 2 values.").waitFor();
  await expectAccessible("the values of a rule", page);
  await dialog.getByRole("button", { name: "Forget billing" }).click();
  await dialog.getByText("The rule follows 1 value.").waitFor();
  await page.keyboard.press("Escape");
});

test("a rule is edited and turned off", async () => {
  await page.goto(dashboard.address + path);
  await chooseAction(page, "Backup missing", "Edit…");
  const dialog = page.getByRole("dialog", { name: "Edit rule" });
  expect(await dialog.getByLabel("No event for").inputValue()).toBe("26");
  expect(await dialog.getByLabel("Slack #ops").isChecked()).toBe(true);
  await dialog.getByLabel("No event for").fill("3");
  await dialog.getByLabel("Unit").selectOption("days");
  await dialog.getByRole("button", { name: "Save" }).click();
  await item("Backup missing").getByText("comes for 3 days").waitFor();
  await chooseAction(page, "Backup missing", "Turn off");
  await item("Backup missing").getByText("Off", { exact: true }).waitFor();
  const changed = (await rules()).find(({ name }) => name === "Backup missing")!;
  expect(changed).toMatchObject({
    q: 'name:"Backup done"',
    when: { type: "silence", minutes: 4_320 },
    urgent: true,
    enabled: false,
  });
  // The browser reports rejected forms as errors of the network.
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

longTest("a viewer sees the rules, and nothing to press", async () => {
  const viewer = await dashboard.openAs("viewer", path);
  await item("Payments", viewer).getByText("Each event matching channel:payments").waitFor();
  expect(await viewer.getByRole("list", { name: "Rules" }).getByRole("button").count()).toBe(0);
  expect(await viewer.getByRole("button", { name: "New rule" }).count()).toBe(0);
  await expectAccessible("rules for a viewer", viewer);
  await viewer.context().close();
});

longTest("rules fit on a phone, in the dark", async () => {
  const phone = await dashboard.open(path, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await item("Payments", phone).waitFor();
  await expectAccessible("rules on a phone", phone);
  expect(await phone.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await phone.context().close();
});

/** Destinations of a project in a real browser: add, test, edit, turn off, rotate a secret, delete. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import type { ProjectDestination } from "../schemas/destination.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";

const path = "/p/default/destinations";

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

const row = (name: string, by = page) => by.getByRole("row").filter({ hasText: name });

async function add(kind: string, name: string, settings: object): Promise<ProjectDestination> {
  const response = await page.request.post(`${dashboard.address}/api/project-destinations?project=default`, {
    data: { kind, name, settings },
    headers: { origin: dashboard.address },
  });
  expect(response.status()).toBe(201);
  return ((await response.json()) as { destination: ProjectDestination }).destination;
}

async function stored(name: string): Promise<ProjectDestination | undefined> {
  const response = await page.request.get(`${dashboard.address}/api/project-destinations?project=default`);
  const { destinations } = (await response.json()) as { destinations: ProjectDestination[] };
  return destinations.find((each) => each.name === name);
}

test("an admin adds a Slack channel by keyboard and sees its real answer to a test", async () => {
  await page.goto(dashboard.address + path);
  await page.getByText("No destinations yet").waitFor();
  await expectAccessible("no destinations", page);
  await page.getByRole("button", { name: "Add a destination" }).focus();
  await page.keyboard.press("Enter");
  const slack = page.getByRole("button", { name: "Slack" });
  await slack.waitFor();
  await expectAccessible("the kinds of destinations", page);
  await slack.focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
  await page.keyboard.type("Shop channel");
  await page.keyboard.press("Tab");
  await page.keyboard.type("ftp://hooks.example.com");
  await page.keyboard.press("Enter");
  // The error is at its field, whose input is described by it.
  await page.getByRole("alert").waitFor();
  const url = page.getByLabel("Webhook URL");
  expect(await url.getAttribute("aria-invalid")).toBe("true");
  expect(await url.getAttribute("type")).toBe("text");
  await expectAccessible("a destination with an error", page);
  await url.fill(receiver.settings.slack.url);
  await page.keyboard.press("Enter");
  await row("Shop channel").getByText("nothing delivered yet").waitFor();

  await chooseAction(page, "Shop channel", "Send a test");
  await row("Shop channel").getByText("Test delivered.").waitFor();
  expect(receiver.take().body.text).toContain("It works");
  receiver.answerNext(404, "no_service");
  await chooseAction(page, "Shop channel", "Send a test");
  await row("Shop channel")
    .getByText(/Test failed\..*no_service/)
    .waitFor();
  await expectAccessible("destinations", page);
});

longTest("a webhook's signing secret is shown once, when it is added and when it is rotated", async () => {
  await page.goto(dashboard.address + path);
  await page.getByRole("button", { name: "Add a destination" }).click();
  await page.getByRole("button", { name: "Webhook Signed requests" }).click();
  await page.getByLabel("Name").fill("Our server");
  await page.getByLabel("URL", { exact: true }).fill(receiver.settings.webhook.url);
  await page.getByRole("dialog").getByRole("button", { name: "Add destination" }).click();
  const secret = page.locator("[data-secret]");
  const first = await secret.textContent();
  expect(first).toStartWith("whsec_");
  await expectAccessible("a new signing secret", page);
  await page.getByRole("button", { name: "Done" }).click();

  await chooseAction(page, "Our server", "Rotate the signing secret…");
  await page.getByText("For a day, webhooks are signed with both").waitFor();
  await expectAccessible("the question before a rotation", page);
  await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("webhooks are signed with the old one too").waitFor();
  expect(await secret.textContent()).not.toBe(first);
  await page.getByRole("button", { name: "Done" }).click();
  await secret.waitFor({ state: "detached" });

  // Its address is no secret to those who manage it, and its signing secret is.
  await chooseAction(page, "Our server", "Edit…");
  const url = page.getByLabel("URL", { exact: true });
  expect([await url.getAttribute("type"), await url.inputValue()]).toEqual([
    "text",
    receiver.settings.webhook.url,
  ]);
  expect(await page.getByLabel("Signing secret").getAttribute("type")).toBe("password");
  await page.getByRole("button", { name: "Cancel" }).click();
});

longTest("an edit keeps the secrets that are left empty, and removes what is emptied", async () => {
  const { matrix } = receiver.settings;
  await add("matrix", "On call", matrix);
  await add("gotify", "Taken", receiver.settings.gotify);
  await page.goto(dashboard.address + path);
  await chooseAction(page, "On call", "Edit…");
  await page.getByText(`Set, ends in …${matrix.token.slice(-4)}. Leave it empty to keep it.`).waitFor();
  await expectAccessible("a destination that is edited", page);
  const room = page.getByLabel("Room ID");
  expect(await room.inputValue()).toBe(matrix.room);
  await room.fill("!night:example.com");
  await page.getByLabel("Name").fill("Taken");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText('has a destination called "Taken" already').waitFor();
  await page.getByLabel("Name").fill("On call at night");
  await page.getByLabel("Messages in an hour, at most").fill("20");
  await page.getByRole("button", { name: "Save" }).click();
  await row("On call at night").waitFor();
  const changed = (await stored("On call at night"))!;
  expect(changed.hourlyLimit).toBe(20);
  expect(changed.settings).toMatchObject({ room: "!night:example.com" });
  expect(changed.secrets).toEqual({ token: matrix.token.slice(-4) });

  const { telegram } = receiver.settings;
  await add("telegram", "Group", { ...telegram, topic: 7 });
  await page.reload();
  await chooseAction(page, "Group", "Edit…");
  await page.getByLabel("Topic").fill("seven");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("Topic").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Topic").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await stored("Group"))!.settings).not.toHaveProperty("topic");
});

longTest("a destination is turned off, on and deleted", async () => {
  await add("gotify", "Pager", receiver.settings.gotify);
  await page.goto(dashboard.address + path);
  await chooseAction(page, "Pager", "Turn off");
  await row("Pager").getByText("Off · nothing delivered yet").waitFor();
  expect((await stored("Pager"))!.enabled).toBe(false);
  await chooseAction(page, "Pager", "Turn on");
  await row("Pager").getByText("On · nothing delivered yet").waitFor();
  await chooseAction(page, "Pager", "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete this destination?" });
  await dialog.waitFor();
  await expectAccessible("the question before a deletion", page);
  await dialog.getByRole("button", { name: "Delete" }).click();
  // An open dialog hides the rows from assistive technology, and so from the locator.
  await dialog.waitFor({ state: "detached" });
  await row("Pager").waitFor({ state: "detached" });
  expect(await stored("Pager")).toBeUndefined();
  // The browser reports rejected forms as errors of the network.
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

longTest("a destination that fails says since when and why, also after it was turned off", async () => {
  const { id } = await add("webhook", "Flaky", receiver.settings.webhook);
  const response = await page.request.post(`${dashboard.address}/api/rules?project=default`, {
    data: {
      name: "All",
      q: "channel:flaky",
      when: { type: "each" },
      to: { everyone: false, members: [], destinations: [id] },
    },
    headers: { origin: dashboard.address },
  });
  expect(response.status()).toBe(201);
  receiver.answerNext(404, "no such path");
  await dashboard.post({ channel: "flaky", name: "First" });
  await until(async () => (await stored("Flaky"))!.failingSince !== null);
  await page.goto(dashboard.address + path);
  await row("Flaky").getByText("Failing since").waitFor();
  await row("Flaky").getByText("no such path").waitFor();
  receiver.answerNext(410, "moved away");
  await dashboard.post({ channel: "flaky", name: "Second" });
  await until(async () => !(await stored("Flaky"))!.enabled);
  await page.reload();
  await row("Flaky").getByText("Off · nothing delivered yet").waitFor();
  await row("Flaky").getByText("moved away").waitFor();
  await expectAccessible("a destination that was turned off", page);
});

longTest("a viewer sees the destinations, and nothing to press", async () => {
  await add("gotify", "Phones", receiver.settings.gotify);
  const viewer = await dashboard.openAs("viewer", path);
  await row("Phones", viewer).getByText("On · nothing delivered yet").waitFor();
  expect(await viewer.getByRole("table").getByRole("button").count()).toBe(0);
  expect(await viewer.getByRole("button", { name: "Add a destination" }).count()).toBe(0);
  await expectAccessible("destinations for a viewer", viewer);
  await viewer.context().close();
});

longTest("destinations fit on a phone, in the dark", async () => {
  const phone = await dashboard.open(path, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await row("Phones", phone).waitFor();
  await expectAccessible("destinations on a phone", phone);
  expect(await phone.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await phone.context().close();
});

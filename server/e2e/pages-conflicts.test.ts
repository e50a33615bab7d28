// @long
/** Two people edit the same thing in two browsers: who saves later sees both, and nothing of a colleague is overwritten. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../testing/until.ts";
import { chooseAction, expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
/** Grace, the owner, edits in the dashboard. Ada, an admin, changes the same thing from another browser. */
let grace: Page;
let ada: Page;
const made: Record<string, string> = {};

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post({ channel: "payments", name: "Paid", userId: "u1" });
  grace = await dashboard.open("/p/default");
  ada = await dashboard.openAs("admin", "/p/default");
  const to = { everyone: true, members: [], destinations: [] };
  const tile = { id: "t", type: "text", title: "Note", text: "", x: 0, y: 0, w: 3, h: 2 };
  const destination = { kind: "ntfy", name: "A destination", settings: { topic: "shop" } };
  const webhook = { name: "A webhook", source: "plain", channel: "payments", mapping: { name: "Paid" } };
  await make("rule", "/api/rules", { name: "A rule", when: { type: "each" }, to });
  await make("view", "/api/views", { name: "A view", q: "paid", shared: true });
  await make("key", "/api/keys", { name: "A key" });
  await make("destination", "/api/project-destinations", destination);
  await make("webhook", "/api/webhooks", webhook);
  await make("board", "/api/boards", { name: "A board", tiles: [tile] });
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

async function send(by: Page, method: string, path: string, data?: object): Promise<Record<string, unknown>> {
  const query = path.startsWith("/api/projects") ? "" : "?project=default";
  const response = await by.request.fetch(dashboard.address + path + query, {
    method,
    ...(data && { data }),
    headers: { origin: dashboard.address },
  });
  expect(`${path}: ${response.status()} ${await response.text()}`).toStartWith(`${path}: 20`);
  return (await response.json()) as Record<string, unknown>;
}

async function make(name: string, path: string, body: object): Promise<void> {
  const { id } = (await send(grace, "POST", path, body))[name] as { id: string };
  made[name] = `${path}/${id}`;
}

type Thing = {
  page: () => string;
  /** Begins to edit. */
  begin?: () => Promise<void>;
  /** The label of the field that both change, and its name in the API. */
  label: string;
  field: string;
  path: () => string;
  /** What its conflict is about: "rule". */
  what: string;
  /** Reads the field. */
  read: () => Promise<unknown>;
};

const listed = (list: string, name: string, isIt: (each: Record<string, unknown>) => boolean) => async () =>
  ((await send(grace, "GET", list))[name] as Record<string, unknown>[]).find(isIt)!;
const field = (read: () => Promise<Record<string, unknown>>, name: string) => async () =>
  (await read())[name];
const isMade = (name: string) => (each: Record<string, unknown>) => made[name]!.endsWith(each.id as string);
const fromMenu = (name: string, action = "Edit…") => chooseAction(grace, name, action);

const things: Record<string, Thing> = {
  "a rule": {
    page: () => "/p/default/rules",
    begin: () => fromMenu("A rule"),
    ...{ label: "Name", field: "name", what: "rule", path: () => made.rule! },
    read: field(listed("/api/rules", "rules", isMade("rule")), "name"),
  },
  "a view of the project": {
    page: () => "/p/default",
    begin: () => fromMenu("A view", "Rename"),
    ...{ label: "Name", field: "name", what: "view", path: () => made.view! },
    read: field(listed("/api/views", "views", isMade("view")), "name"),
  },
  "a channel": {
    page: () => "/p/default/channels/payments",
    begin: () => grace.getByRole("button", { name: "Edit channel" }).click(),
    ...{ label: "Description", field: "description", what: "channel", path: () => "/api/channels/payments" },
    read: field(
      listed("/api/channels", "channels", ({ id }) => id === "payments"),
      "description",
    ),
  },
  "an API key": {
    page: () => "/p/default/keys",
    begin: () => fromMenu("A key"),
    ...{ label: "Name", field: "name", what: "API key", path: () => made.key! },
    read: field(listed("/api/keys", "keys", isMade("key")), "name"),
  },
  "a destination": {
    page: () => "/p/default/destinations",
    begin: () => fromMenu("A destination"),
    ...{ label: "Name", field: "name", what: "destination", path: () => made.destination! },
    read: field(listed("/api/project-destinations", "destinations", isMade("destination")), "name"),
  },
  "a webhook": {
    page: () => "/p/default/webhooks",
    begin: () => fromMenu("A webhook"),
    ...{ label: "Name", field: "name", what: "webhook", path: () => made.webhook! },
    read: field(listed("/api/webhooks", "webhooks", isMade("webhook")), "name"),
  },
  "a board": {
    page: () => made.board!.replace("/api", "/p/default"),
    begin: () => grace.getByRole("button", { name: "Edit", exact: true }).click(),
    ...{ label: "Name of the board", field: "name", what: "board", path: () => made.board! },
    read: field(async () => (await send(grace, "GET", made.board!)).board as Record<string, unknown>, "name"),
  },
  "a setting of the project": {
    page: () => "/p/default/settings",
    ...{ label: "Project name", field: "name", what: "project", path: () => "/api/projects/default" },
    read: field(
      listed("/api/projects", "projects", ({ slug }) => slug === "default"),
      "name",
    ),
  },
};

const input = ({ label }: Thing) => grace.getByLabel(label, { exact: true });
const save = () => grace.getByRole("button", { name: "Save", exact: true }).last().click();
const conflict = ({ what }: Thing) =>
  grace.getByRole("dialog", { name: `This ${what} has changed meanwhile` });

async function begin(thing: Thing): Promise<void> {
  await grace.goto(dashboard.address + thing.page());
  await thing.begin?.();
  await input(thing).waitFor();
}

/** Chooses a side, and saves. */
async function keep(thing: Thing, side: RegExp): Promise<void> {
  const dialog = conflict(thing);
  await dialog.getByRole("radio", { name: side }).check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
}

for (const [name, thing] of Object.entries(things))
  describe(name, () => {
    let original: unknown;
    const restore = () => send(ada, "PATCH", thing.path(), { [thing.field]: original ?? null });
    test("shows both, and saves what is chosen", async () => {
      original = await thing.read();
      await begin(thing);
      await input(thing).fill("Mine");
      await send(ada, "PATCH", thing.path(), { [thing.field]: "Theirs" });
      await save();
      await conflict(thing).waitFor();
      await expectAccessible(`a conflict about ${name}`, grace);
      expect(await thing.read()).toBe("Theirs");
      await keep(thing, /^Yours Mine/);
      await until(async () => (await thing.read()) === "Mine");
      await restore();
    });

    test("after an outage too", async () => {
      await begin(thing);
      await input(thing).fill("Written in the tunnel");
      await grace.context().setOffline(true);
      await send(ada, "PATCH", thing.path(), { [thing.field]: "Theirs again" });
      await grace.context().setOffline(false);
      await save();
      await keep(thing, /Theirs again/);
      await until(async () => (await thing.read()) === "Theirs again");
      await restore();
    });
  });

for (const name of ["a rule", "a board"])
  test(`what was entered in ${name} outlasts a reload, with the version that it began with`, async () => {
    const thing = things[name]!;
    await begin(thing);
    await input(thing).fill("Before the reload");
    await until(() => grace.evaluate("JSON.stringify(sessionStorage).includes('Before the reload')"));
    await send(ada, "PATCH", thing.path(), { [thing.field]: "While it reloaded" });
    await grace.reload();
    await grace.getByRole("button", { name: "Continue" }).click();
    await until(async () => (await input(thing).inputValue()) === "Before the reload");
    await save();
    await keep(thing, /Before the reload/);
    await until(async () => (await thing.read()) === "Before the reload");
  });

test("of two tabs of one person, the later one asks as well", async () => {
  const thing = things["a rule"]!;
  const former = await thing.read();
  await grace.goto(`${dashboard.address}/p/default/rules`);
  await fromMenu(former as string);
  await input(thing).fill("Here");
  await send(grace, "PATCH", thing.path(), { name: "In the other tab" });
  await save();
  await conflict(thing).getByText("You saved it in another tab or browser").waitFor();
  await keep(thing, /^In the other tab/);
  await until(async () => (await thing.read()) === "In the other tab");
});

// @long
/** Members in a real browser: invite, join, change, remove, leave; and what each role sees. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { patienceMs } from "../testing/engine.ts";
import { testPassword } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let dashboard: TestDashboard;
let page: Page;
beforeAll(async () => {
  dashboard = await openDashboard();
  page = await dashboard.open("/p/default/members");
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const headers = () => ({ origin: dashboard.address });
const post = async <Answer>(path: string, data: object, by = page) =>
  (await (await by.request.post(dashboard.address + path, { data, headers: headers() })).json()) as Answer;

/** Somebody who has never signed in. */
async function newPerson(path: string): Promise<Page> {
  const context = await dashboard.browser.newContext({ viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(patienceMs);
  const other = await context.newPage();
  await other.goto(dashboard.address + path);
  return other;
}

async function invitationLink(role: string, project = "default"): Promise<string> {
  const { link } = await post<{ link: string }>(`/api/invitations?project=${project}`, { role });
  return new URL(link).pathname;
}

/** A new member, who is signed in and has the feed open. */
async function newMember(email: string, role: string, project = "default"): Promise<Page> {
  const other = await newPerson(await invitationLink(role, project));
  await other.getByLabel("Email").fill(email);
  await other.getByLabel("Password").fill(testPassword);
  await other.getByRole("button", { name: "Create account and join" }).click();
  await other.waitForURL(/\/p\/[^/]+$/);
  return other;
}

const memberItem = (email: string, by = page) =>
  by.getByRole("list", { name: "Members" }).getByRole("listitem").filter({ hasText: email });

test("an owner makes an invitation, a stranger opens the link, creates an account and joins", async () => {
  await page.goto(`${dashboard.address}/p/default/members`);
  await memberItem("owner@example.com").getByText("You", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await expectAccessible("the invite dialog", page);
  await page.getByLabel("Email").fill("mira@example.com");
  await page.getByLabel("Role").selectOption("Viewer");
  await page.getByText("Viewers see everything and change nothing.").waitFor();
  await page.keyboard.press("Enter");
  const link = await page.locator("[data-secret]").textContent();
  await expectAccessible("the invitation's link", page);
  await page.getByRole("button", { name: "Done" }).click();
  const invitations = page.getByRole("list", { name: "Invitations" });
  await invitations.getByText("mira@example.com").waitFor();
  await expectAccessible("members", page);

  const mira = await newPerson(new URL(link!).pathname);
  await mira.getByRole("heading", { name: "Join Default" }).waitFor();
  await mira.getByText("owner invites you to the project Default as a viewer").waitFor();
  await expectAccessible("the invitation", mira);
  expect(await mira.getByLabel("Email").inputValue()).toBe("mira@example.com");
  // The address is given, so the password has the focus.
  await mira.keyboard.type(testPassword);
  await mira.keyboard.press("Enter");
  await mira.waitForURL(/\/p\/default$/);
  await mira.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await memberItem("mira@example.com").getByLabel("Role of mira").waitFor();
  expect(await invitations.count()).toBe(0);

  const again = await newPerson(new URL(link!).pathname);
  await again.getByRole("heading", { name: "This invitation doesn't work" }).waitFor();
  await expectAccessible("a void invitation", again);
  await again.context().close();
  await mira.context().close();
});

test("somebody with an account signs in and joins; somebody else is told whose invitation it is", async () => {
  const jo = await newMember("jo@example.com", "viewer");
  const { project } = await post<{ project: { slug: string } }>("/api/projects", { name: "Second" });
  await jo.request.post(`${dashboard.address}/api/auth/sign-out`, { data: {}, headers: headers() });
  const invite = async (email: string) => {
    const path = `/api/invitations?project=${project.slug}`;
    return new URL((await post<{ link: string }>(path, { email, role: "member" })).link).pathname;
  };
  const link = await invite("jo@example.com");
  await jo.goto(dashboard.address + link);
  await jo.getByRole("link", { name: "I have an account" }).click();
  await jo.getByLabel("Email").fill("jo@example.com");
  await jo.getByLabel("Password").fill(testPassword);
  await jo.getByRole("button", { name: "Sign in" }).click();
  await jo.getByRole("button", { name: "Join as jo@example.com" }).click();
  await jo.waitForURL(/\/p\/second$/);

  await jo.goto(dashboard.address + (await invite("another@example.com")));
  await jo
    .getByText("This invitation is for another@example.com. You're signed in as jo@example.com.")
    .waitFor();
  expect(await jo.getByRole("button", { name: /Join/ }).count()).toBe(0);
  await jo.getByRole("button", { name: "Use another account" }).click();
  await jo.getByRole("button", { name: "Create account and join" }).waitFor();
  await jo.context().close();
});

test("an owner changes roles and revokes invitations", async () => {
  const kim = await newMember("kim@example.com", "viewer");
  const link = await invitationLink("member");
  await page.goto(`${dashboard.address}/p/default/members`);
  await page.getByLabel("Role of kim").selectOption("Admin");
  await until(async () => {
    const { projects } = (await (await kim.request.get(`${dashboard.address}/api/me`)).json()) as {
      projects: { role: string }[];
    };
    return projects[0]!.role === "admin";
  });
  // An admin can't touch the owner.
  await kim.goto(`${dashboard.address}/p/default/members`);
  await memberItem("owner@example.com", kim).getByText("Owner", { exact: true }).waitFor();
  expect(await kim.getByLabel("Role of owner").count()).toBe(0);
  // What a new role no longer allows disappears with the first refusal.
  const invite = kim.getByRole("button", { name: "Invite", exact: true });
  await invite.waitFor();
  await page.getByLabel("Role of kim").selectOption("Viewer");
  await page.getByLabel("Role of kim").and(page.locator(":enabled")).waitFor();
  await invite.click();
  await kim.getByRole("button", { name: "Create invitation" }).click();
  await kim.getByText("Your role in this project is viewer.").waitFor();
  await kim.keyboard.press("Escape");
  await invite.waitFor({ state: "detached" });
  await chooseAction(page, "the invitation of Anyone with the link", "New link");
  await page.locator("[data-secret]").waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await chooseAction(page, "the invitation of Anyone with the link", "Revoke");
  await page.getByRole("list", { name: "Invitations" }).waitFor({ state: "detached" });
  await kim.goto(dashboard.address + link);
  await kim.getByRole("heading", { name: "This invitation doesn't work" }).waitFor();
  await kim.context().close();
});

test("a member who is removed while the feed is open loses it", async () => {
  const lou = await newMember("lou@example.com", "member");
  await lou.getByText("Live", { exact: true }).waitFor();
  await dashboard.post({ channel: "payments", name: "Before" });
  await lou.getByRole("article").filter({ hasText: "Before" }).waitFor();
  await page.goto(`${dashboard.address}/p/default/members`);
  await chooseAction(page, "lou", "Remove from the project…");
  const dialog = page.getByRole("dialog", { name: "Remove this member?" });
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await memberItem("lou@example.com").waitFor({ state: "detached" });
  await dashboard.post({ channel: "payments", name: "After" });
  await lou.getByRole("heading", { name: "You're no longer in this project" }).waitFor();
  expect(await lou.getByText("After").count()).toBe(0);
  expect(await lou.getByRole("article").count()).toBe(0);
  await expectAccessible("a project that is gone", lou);
  await lou.getByRole("link", { name: "Go to your events" }).click();
  await lou.getByText("You're not in any project").waitFor();
  await lou.context().close();
});

test("an owner hands a project over and leaves it", async () => {
  const { project } = await post<{ project: { slug: string } }>("/api/projects", { name: "Handover" });
  const max = await newMember("max@example.com", "member", project.slug);
  await page.goto(`${dashboard.address}/p/${project.slug}/members`);
  await page.getByText("You are the only owner.").waitFor();
  expect(await page.getByRole("button", { name: "Leave project…" }).count()).toBe(0);
  await page.getByRole("button", { name: "Hand over ownership…" }).click();
  await page.getByLabel("New owner").selectOption({ label: "max (max@example.com)" });
  await expectAccessible("the handover", page);
  await page.getByRole("button", { name: "Hand over", exact: true }).click();
  await memberItem("max@example.com").getByText("Owner", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Leave project…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave project" }).click();
  await page.waitForURL(/\/p\/default$/);
  await max.context().close();
});

test("a viewer sees no button that they may not use", async () => {
  const event = await dashboard.post({ channel: "payments", name: "Paid" });
  await fetch(`${dashboard.address}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: JSON.stringify({ channel: "payments", name: 7 }),
  });
  const viewer = await newMember("vi@example.com", "viewer");
  async function open(by: Page, path: string, shows: string): Promise<void> {
    await by.goto(dashboard.address + path);
    await by.getByText(shows).first().waitFor();
  }
  /** Everything that can be pressed or followed in a page. */
  function controls(by: Page): Promise<string[]> {
    return by
      .locator("button:visible, a:visible, select:visible, [role=option]:visible")
      .evaluateAll((all: { ariaLabel: string | null; textContent: string | null }[]) =>
        all.map((each) => each.ariaLabel || each.textContent?.trim() || ""),
      );
  }
  const denied: [path: string, shows: string, names: string[]][] = [
    ["/p/default", "Paid", ["New channel"]],
    ["/p/default/channels/payments", "Paid", ["Edit channel"]],
    [`/p/default/events/${event.id}`, "Copy link", ["Delete event"]],
    // A page of connections unfolds their part of the navigation.
    ["/p/default/rejected", "Sent with API key", ["API keys", "Fix and resend", "Discard"]],
    ["/p/default/members", "vi@example.com", ["Invite", "Role of owner", "Actions for owner"]],
    ["/p/default/settings", "My settings", ["Delete project…", "Audit log", "Import events…"]],
  ];
  for (const [path, shows, names] of denied) {
    await open(viewer, path, shows);
    await open(page, path, shows);
    // The other members in turn have what the owner sees.
    const ofOwner = names.filter((name) => !name.endsWith(" owner"));
    // Some buttons are loaded after the page.
    await until(async () => {
      const seen = await controls(page);
      return ofOwner.every((name) => seen.includes(name));
    });
    const seen = await controls(viewer);
    for (const name of names) expect(seen, path).not.toContain(name);
  }
  for (const [path, says] of [
    ["keys", "Only owners and admins can list, create, change, rotate and revoke API keys. Ask one of them."],
    ["audit", "Only owners and admins can read the audit log. Ask one of them."],
  ] as const) {
    await viewer.goto(`${dashboard.address}/p/default/${path}`);
    await viewer.getByText(says).waitFor();
    await expectAccessible(`${path} for a viewer`, viewer);
  }
  await viewer.keyboard.press("Control+k");
  const options = viewer.getByRole("option");
  await options.filter({ hasText: "Members" }).waitFor();
  for (const name of ["New channel", "API keys", "Audit log"])
    expect(await options.filter({ hasText: name }).count()).toBe(0);
  await viewer.context().close();
});

test("somebody with many projects finds one by typing, in the project menu and the palette", async () => {
  for (const name of ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Harbour"])
    await post("/api/projects", { name });
  await page.goto(`${dashboard.address}/p/default`);
  await page.getByRole("complementary").getByRole("button", { name: "Default" }).click();
  await page.getByPlaceholder("Find a project…").waitFor();
  await expectAccessible("the project search", page);
  await page.getByPlaceholder("Find a project…").pressSequentially("harb");
  await until(async () => (await page.getByRole("listbox").getByRole("option").count()) === 1);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/p\/harbour$/);
  await page.getByRole("complementary").getByRole("button", { name: "Harbour" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Search events, users, pages and actions…").fill("epsi");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/p\/epsilon$/);
  // By keyboard only, and back to the button when it is left.
  const button = page.getByRole("complementary").getByRole("button", { name: "Epsilon" });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByPlaceholder("Find a project…").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await until(() => button.evaluate((element) => element === element.ownerDocument.activeElement));
});

test("an invitation fits on a phone, in the dark", async () => {
  const context = await dashboard.browser.newContext({
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
  });
  const phone = await context.newPage();
  await phone.goto(dashboard.address + (await invitationLink("admin")));
  await phone.getByRole("button", { name: "Create account and join" }).waitFor();
  await expectAccessible("the invitation on a phone", phone);
  expect(await phone.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await context.close();
});

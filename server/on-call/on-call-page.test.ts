// @long
/** On-call schedules in a real browser: make one, take a shift and give it back, let a rule use it, edit, delete. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  await (await dashboard.openAs("member", "/p/default/on-call")).close();
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

const dialog = () => page.getByRole("dialog");
const card = () => page.getByRole("article", { name: "Backend" });

test("a schedule is made, overridden, used by a rule, changed and deleted", async () => {
  await page.goto(`${dashboard.address}/p/default/on-call`);
  await page.getByText("No schedules yet").waitFor();
  await expectAccessible("no schedules", page);

  await page.getByRole("button", { name: "New schedule" }).click();
  await dialog().getByLabel("Name", { exact: true }).fill("Backend");
  const [, owner, bob] = (await dialog()
    .getByLabel("Members", { exact: true })
    .locator("option")
    .allTextContents()) as [string, string, string];
  await dialog().getByLabel("Members", { exact: true }).selectOption({ label: bob });
  await dialog().getByLabel("Add a member").selectOption({ label: owner });
  await dialog()
    .getByRole("button", { name: `Move ${owner} up` })
    .click();
  await dialog()
    .getByRole("button", { name: `Remove ${bob}` })
    .click();
  await dialog()
    .getByRole("checkbox", { name: /Only in some hours/ })
    .check();
  await expectAccessible("a new schedule", page);
  await dialog()
    .getByRole("checkbox", { name: /Only in some hours/ })
    .uncheck();
  await dialog().getByRole("button", { name: "Create schedule" }).click();
  await card().getByText(`${owner} is on call`).waitFor();
  await expectAccessible("a schedule", page);

  await card().getByRole("button", { name: "Override" }).click();
  await dialog().getByLabel("On call", { exact: true }).selectOption({ label: bob });
  await expectAccessible("an override", page);
  await dialog().getByRole("button", { name: "Give the shift" }).click();
  await card().getByText(`${bob} is on call`).waitFor();
  await card().getByText("All shifts of these two weeks").click();
  const shifts = card().getByRole("list", { name: "Shifts" }).getByRole("listitem");
  expect(await shifts.first().textContent()).toContain("(override)");
  await shifts
    .first()
    .getByRole("button", { name: /Take over/ })
    .click();
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await card()
    .getByRole("button", { name: new RegExp(`Delete the override of ${bob}`) })
    .click();
  await card().getByText(`${owner} is on call`).waitFor();

  await page.goto(`${dashboard.address}/p/default/rules`);
  await page.getByRole("button", { name: "New rule" }).click();
  await dialog().getByLabel("Name", { exact: true }).fill("Disk");
  await dialog().getByRole("checkbox", { name: "Everyone" }).uncheck();
  await dialog().getByRole("checkbox", { name: "Backend" }).check();
  await dialog().getByRole("button", { name: "Create rule" }).click();
  await page.getByText("to whoever is on call in Backend").waitFor();

  await page.goto(`${dashboard.address}/p/default/on-call`);
  await chooseAction(page, "Backend", "Edit…");
  await dialog().getByRole("button", { name: "Add a rotation" }).click();
  await dialog().getByLabel("Members", { exact: true }).selectOption({ label: bob });
  await dialog().getByRole("button", { name: "Save" }).click();
  await card().getByText(bob).first().waitFor();
  await chooseAction(page, "Backend", "Delete…");
  await dialog().or(page.getByRole("alertdialog")).getByRole("button", { name: "Delete" }).click();
  await page.getByText('Rules notify whoever is on call in "Backend": "Disk".').waitFor();
  // The browser reports the answer to the schedule that is in use.
  expect(complaints.filter((text) => !text.includes("409"))).toEqual([]);
});

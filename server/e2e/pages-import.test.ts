import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { longTest } from "../testing/long-test.ts";
import { until } from "../testing/until.ts";
import { expectAccessible } from "./browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await openDashboard();
});
afterAll(() => dashboard[Symbol.asyncDispose]());

const fileOf = (name: string, content: string | Buffer) => ({
  name,
  mimeType: "application/octet-stream",
  buffer: Buffer.from(content),
});

/** Waits for the result of an import: recorded, already there, rejected. */
async function expectCounts(page: Page, recorded: string, duplicates: string, rejected: string) {
  const progress = page.getByRole("dialog").getByRole("status");
  await progress
    .filter({ hasText: new RegExp(`^Recorded${recorded}Already there${duplicates}Rejected${rejected}$`) })
    .waitFor();
}

async function listed(query: string): Promise<{ name: string; tags: object; createdAt: string }[]> {
  const response = await fetch(`${dashboard.address}/api/events?${query}`, {
    headers: { "x-api-key": dashboard.key },
  });
  return ((await response.json()) as { events: [] }).events;
}

test("a table is imported by its columns, its faulty rows are rejected, and again it adds nothing", async () => {
  const csv =
    "what,who,when,plan\n" +
    'Signed up,u1,2026-01-05 10:00:00,pro\n"Paid, twice",u2,1767607260,free\nToo,many,cells,in,here\n,u3,,\n';
  const page = await dashboard.open("/p/default/settings");
  await page.getByRole("button", { name: "Import events…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File to import").setInputFiles(fileOf("old.csv", csv));
  await dialog.getByText("No event has a name.").waitFor();
  await dialog.getByRole("combobox", { name: "Name", exact: true }).selectOption("what");
  await dialog.getByRole("combobox", { name: "User ID" }).selectOption("who");
  await dialog.getByRole("combobox", { name: "Time" }).selectOption("when");
  await dialog.getByLabel("Default channel").fill("old");
  await dialog.getByRole("region", { name: "Preview" }).getByText("Paid, twice").waitFor();
  await expectAccessible("Import events", page);
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await dialog.getByText("Import finished").waitFor();
  await expectCounts(page, "2", "0", "2");
  await dialog.getByText("The row has 5 cells, and the header 4.").waitFor();
  expect(await listed("channel=old&order=asc")).toMatchObject([
    { name: "Signed up", tags: { plan: "pro" }, createdAt: "2026-01-05T10:00:00.000Z" },
    { name: "Paid, twice", tags: { plan: "free" }, createdAt: "2026-01-05T10:01:00.000Z" },
  ]);
  await dialog.getByRole("button", { name: "Import another file" }).click();
  await dialog.getByLabel("File to import").setInputFiles(fileOf("old.csv", csv));
  await dialog.getByRole("combobox", { name: "Name", exact: true }).selectOption("what");
  await dialog.getByRole("combobox", { name: "User ID" }).selectOption("who");
  await dialog.getByRole("combobox", { name: "Time" }).selectOption("when");
  await dialog.getByLabel("Default channel").fill("old");
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await dialog.getByText("Import finished").waitFor();
  await expectCounts(page, "0", "2", "2");
  expect(await listed("channel=old")).toHaveLength(2);
  await dialog.getByRole("link", { name: "Fix rejected events" }).click();
  await page.getByRole("heading", { name: "Rejected events" }).waitFor();
  await page.context().close();
});

longTest(
  "lines are imported while other pages are open; stopped, the import continues where it was",
  async () => {
    const count = 3_000;
    const lines = Array.from({ length: count }, (_, n) =>
      JSON.stringify({ channel: "lines", name: `n${n}`, createdAt: 1_767_225_600_000 + n }),
    );
    const file = fileOf("lines.ndjson.gz", gzipSync(`${lines.join("\n")}\n`));
    const page = await dashboard.open("/p/default");
    // Holds every request after the first, until the import was stopped.
    let requests = 0;
    await page.route("**/api/events?*silent=true*", (route) =>
      ++requests === 1 ? route.continue() : undefined,
    );
    await page.getByRole("button", { name: /Go to/ }).click();
    await page.getByRole("option", { name: "Import events" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("File to import").setInputFiles(file);
    await dialog.getByRole("button", { name: "Import", exact: true }).click();
    await expectCounts(page, "500", "0", "0");
    await dialog.getByRole("button", { name: "Continue in the background" }).click();
    await page.getByRole("link", { name: "Users", exact: true }).first().click();
    const card = page.getByRole("region", { name: "Running jobs" });
    await card.getByRole("progressbar").waitFor();
    await until(() => requests >= 2);
    await card.getByRole("button", { name: "Stop" }).click();
    await card.getByText("Import stopped").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByRole("button", { name: /Go to/ }).click();
    await page.getByRole("option", { name: "Import events" }).click();
    await dialog.getByLabel("File to import").setInputFiles(file);
    await dialog.getByRole("button", { name: "Import", exact: true }).click();
    await dialog.getByText("Import finished").waitFor();
    await expectCounts(page, "2,500", "500", "0");
    const names = (await listed("channel=lines&order=asc")).map(({ name }) => name);
    expect(names).toEqual(Array.from({ length: count }, (_, n) => `n${n}`));
    await page.context().close();
  },
);

longTest(
  "an export with users is imported; settings and zstd are refused with the way that works",
  async () => {
    const lines = [
      { type: "channel", name: "sold" },
      { type: "user", userId: "u/9", properties: { plan: "pro" } },
      { channelId: "sold", name: "Sold", userId: "u/9", createdAt: "2026-01-05T10:00:00Z" },
    ];
    const page = await dashboard.open("/p/default/settings");
    await page.getByRole("button", { name: "Import events…" }).click();
    const dialog = page.getByRole("dialog");
    const input = dialog.getByLabel("File to import");
    await input.setInputFiles(fileOf("all.ndjson.zst", zstdCompressSync(JSON.stringify(lines))));
    await dialog.getByText("compressed with zstd, which browsers can't read").waitFor();
    await input.setInputFiles(fileOf("all.json", JSON.stringify(lines)));
    await dialog.getByRole("button", { name: "Import", exact: true }).click();
    await dialog.getByText("Import finished").waitFor();
    await expectCounts(page, "1", "0", "1");
    await dialog.getByText("Only the command line imports channels").waitFor();
    await dialog.getByText("Properties of 1 user were set.").waitFor();
    const response = await fetch(`${dashboard.address}/api/users/u%2F9`, {
      headers: { "x-api-key": dashboard.key },
    });
    expect(await response.json()).toMatchObject({ user: { events: 1, properties: { plan: "pro" } } });
    await page.context().close();
  },
);

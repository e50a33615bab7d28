import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { launchChromium } from "./chromium.ts";

const page = `<!doctype html>
<meta charset="utf-8"><title>A page</title>
<h1 style="font-family: 'Open Sans'">Payment received</h1>
<button onclick="count.textContent = Number(count.textContent) + 1">Add</button> <output id="count">0</output>
<script>fetch("/fact").then((answer) => answer.json()).then(({ fact }) => { document.body.append(fact) })</script>`;

let browser: Browser;
let server: Bun.Server<undefined>;
beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/": () => new Response(page, { headers: { "content-type": "text/html" } }),
      "/fact": () => Response.json({ fact: "geschätzt 🐦" }),
    },
  });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop(true);
});

test("a page opens, its script runs, and a button can be clicked", async () => {
  const tab = await browser.newPage();
  await tab.goto(server.url.href);
  expect(await tab.title()).toBe("A page");
  await tab.getByText("geschätzt 🐦").waitFor();
  await tab.getByRole("button", { name: "Add" }).click();
  await tab.getByRole("button", { name: "Add" }).click();
  expect(await tab.locator("#count").textContent()).toBe("2");
  await tab.close();
});

test("text has a font, so that a screenshot shows it", async () => {
  const tab = await browser.newPage({ viewport: { width: 400, height: 200 } });
  await tab.goto(server.url.href);
  // As a string, because the compiler knows no `document` here.
  const widths = await tab.evaluate(`["400 20px sans-serif", "700 20px sans-serif"].map((font) => {
    const context = document.createElement("canvas").getContext("2d");
    return ["i", "W"].map((text) => Object.assign(context, { font }).measureText(text).width);
  })`);
  const [[narrow, wide], [, bold]] = widths as [[number, number], [number, number]];
  expect(narrow).toBeGreaterThan(2);
  expect(wide).toBeGreaterThan(2 * narrow);
  expect(bold).toBeGreaterThan(wide);
  expect((await tab.screenshot()).length).toBeGreaterThan(2_000);
  await tab.close();
});

test("a second browser in the same process works too", async () => {
  const second = await launchChromium();
  const tab = await second.newPage();
  await tab.goto(server.url.href);
  expect(await tab.title()).toBe("A page");
  await second.close();
  expect(second.isConnected()).toBe(false);
  expect(browser.isConnected()).toBe(true);
});

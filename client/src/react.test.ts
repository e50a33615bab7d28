import { expect, test } from "bun:test";
import { join } from "node:path";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { launchChromium } from "../../server/e2e/browser/chromium.ts";
import { testApp } from "../../server/testing/test-app.ts";
import { createClient } from "./index.ts";
import { TidingsProvider, TrackErrors, useTrack, useTrackOnMount } from "./react.ts";

test("components capture each event once, in strict mode too, with the provider's defaults and errors", async () => {
  await using app = await testApp();
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "testing/react-page.tsx")],
    target: "browser",
    define: { "process.env.NODE_ENV": '"development"' },
  });
  const script = await built.outputs[0]!.text();
  using site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === "/page.js"
        ? new Response(script, { headers: { "content-type": "text/javascript" } })
        : new Response('<!doctype html><body></body><script type="module" src="/page.js"></script>', {
            headers: { "content-type": "text/html" },
          }),
  });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`${site.url}?${new URLSearchParams({ server: app.address, key: app.key })}`);
    const click = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await click("Add");
    await click("Sign in");
    await page.getByText("Signed in as u1").waitFor();
    await click("Add");
    await click("Break");
    await click("Retry after TypeError: no stock");
    await click("Add");
    await click("Flush");
    await page.getByRole("button", { name: "Flushed" }).waitFor();
  } finally {
    await browser.close();
  }
  const events = await app.list("?channel=shop&order=asc");
  expect(events.map(({ name, userId, notify, tags }) => [name, userId, notify, tags])).toEqual([
    ["Cart viewed", "", false, { version: "2" }],
    ["Item added", "", false, { version: "2", item: "7" }],
    ["Item added", "u1", false, { version: "2", item: "7" }],
    ["Component failed", "u1", true, { version: "2", error: "TypeError: no stock" }],
    ["Cart viewed", "u1", false, { version: "2" }],
    ["Item added", "u1", false, { version: "2", item: "7" }],
  ]);
  const { description } = events.find(({ name }) => name === "Component failed")!;
  expect(description).toStartWith("```\nTypeError: no stock\n");
  expect(description).toMatch(/\n\s+at Cart \(.*\n\s+at TrackErrors \(/s);
});

test("on a server, components render and capture nothing", () => {
  const client = createClient({
    baseUrl: "http://127.0.0.1:1",
    apiKey: "k",
    beforeSend: ({ name }) => {
      throw new Error(`${name} was captured`);
    },
    onDrop: (_, __, error) => {
      throw error;
    },
  });
  const tree = createElement(TrackErrors, null, createElement(Cart));
  expect(renderToString(createElement(TidingsProvider, { client }, tree))).toBe("cart");
  expect(() => renderToString(createElement(Cart))).toThrow("Put a <TidingsProvider> around");
  expect(() => renderToString(tree)).toThrow("Put a <TidingsProvider> around");
});

function Cart() {
  useTrack();
  useTrackOnMount({ name: "Cart viewed" });
  return "cart";
}

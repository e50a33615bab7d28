// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { until } from "../../server/testing/until.ts";
import { type InstalledPackage, installPackage } from "./testing/installed-package.ts";
import { installRuntimes } from "./testing/runtimes.ts";

// Every entry of the installed package in every runtime. `hostile.test.ts` has the library under failures, and browsers.

const { commands, workerd } = await installRuntimes();
let app: TestApp;
let customer: InstalledPackage;

beforeAll(async () => {
  app = await testApp();
  const frameworks = ["express", "hono", "fastify", "pino", "react", "react-dom"];
  customer = await installPackage(frameworks);
}, 120_000);
afterAll(async () => {
  await customer[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

/** The beginning of each program. `captured` resolves once a client captured an event. */
const prelude = `import { createClient, TidingsError } from "@tidings/client";
const { baseUrl, apiKey, channel } = JSON.parse(process.env.TIDINGS_TEST_CLIENT);
let onCapture;
const captured = new Promise((resolve) => (onCapture = resolve));
const beforeSend = (event) => (onCapture(), event);
const tidings = createClient({ baseUrl, apiKey, beforeSend });
`;

const programs: Record<string, string> = {
  core: `
const stream = tidings.live({ channel });
const streamed = [];
const streaming = (async () => {
  for await (const { name } of stream) if (streamed.push(name) === 3) break;
})();
while (stream.lastEventId === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
const tracked = await tidings.track({ channel, name: "tracked", tags: { amount: 42 } });
const results = await tidings.trackMany([{ channel, name: "one of many" }, { channel, name: "" }]);
tidings.capture({ channel, name: "captured" });
if (!(await tidings.flush())) throw new Error("not flushed");
await streaming;
const user = await tidings.identify("u-" + channel, { plan: "pro" });
const paged = [];
for await (const { name } of tidings.events({ channel, order: "asc", limit: 2 })) paged.push(name);
const { events } = await tidings.list({ channel, limit: 1 });
await tidings.shutdown();
console.log(JSON.stringify({
  amount: tracked.tags.amount,
  results: results.map(({ ok, error }) => ok || (error instanceof TidingsError && error.code)),
  streamed, paged, last: events[0].name, plan: user.properties.plan,
}));`,
  ending: `
for (let number = 0; number < 5; number++) tidings.capture({ channel, name: "n " + number });`,
  express: `
import express from "express";
import { reportRequests } from "@tidings/client/express";
const app = express();
app.use(reportRequests(tidings, { channel }));
app.get("/orders/:id", (_, response) => response.send("ok"));
const server = app.listen(0, "127.0.0.1", async () => {
  await (await fetch("http://127.0.0.1:" + server.address().port + "/orders/7")).text();
  await captured;
  server.close();
  server.closeAllConnections();
  await tidings.shutdown();
});`,
  hono: `
import { Hono } from "hono";
import { reportRequests } from "@tidings/client/hono";
const app = new Hono();
app.use(reportRequests(tidings, { channel }));
app.get("/orders/:id", (context) => context.text("ok"));
await app.request("/orders/7");
await tidings.shutdown();`,
  fastify: `
import Fastify from "fastify";
import { reportRequests } from "@tidings/client/fastify";
const app = Fastify();
await app.register(reportRequests(tidings, { channel }));
app.get("/orders/:id", async () => "ok");
await app.inject("/orders/7");
await captured;
await app.close();
await tidings.shutdown();`,
  pino: `
import pino from "pino";
import pinoTransport from "@tidings/client/pino";
const stream = pinoTransport({ baseUrl, apiKey, channel });
pino({ base: null }, stream).warn({ route: "/orders/:id" }, "n");
stream.end();`,
  react: `
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { TidingsProvider, useTidings } from "@tidings/client/react";
const Order = () => {
  useTidings().capture({ channel, name: "n", tags: { route: "/orders/:id" } });
  return "ok";
};
renderToString(createElement(TidingsProvider, { client: tidings }, createElement(Order)));
await tidings.shutdown();`,
};

/** Fastify 5 and Pino 10 need Node 20. */
const unsupported: Record<string, string[]> = { node18: ["fastify", "pino"] };

for (const [runtime, command] of commands) {
  const run = async (entry: string) => {
    const channel = `${entry}-${runtime}`;
    const file = await customer.write(`${channel}.mjs`, prelude + programs[entry]!);
    const options = { baseUrl: app.address, apiKey: app.key, channel };
    const output = await customer.run([...command, file], { TIDINGS_TEST_CLIENT: JSON.stringify(options) });
    return { output, events: await app.list(`?channel=${channel}&order=asc`) };
  };

  test(`under ${runtime}, a client sends, streams, lists and identifies`, async () => {
    const names = ["tracked", "one of many", "captured"];
    expect(JSON.parse((await run("core")).output)).toEqual({
      amount: "42",
      results: [true, "body-invalid"],
      streamed: names,
      paged: names,
      last: "captured",
      plan: "pro",
    });
  });

  test(`under ${runtime}, a program that ends sends what it captured`, async () => {
    const { events } = await run("ending");
    expect(events.map(({ name }) => name)).toEqual(["n 0", "n 1", "n 2", "n 3", "n 4"]);
  });

  for (const entry of ["express", "hono", "fastify", "pino", "react"]) {
    test.skipIf(unsupported[runtime]?.includes(entry) ?? false)(
      `under ${runtime}, the entry for ${entry} works`,
      async () => {
        const { events } = await run(entry);
        expect(events.map(({ tags }) => tags.route)).toEqual(["/orders/:id"]);
      },
      60_000,
    );
  }
}

test.skipIf(!workerd)(
  "in an edge worker, which has nothing of Node, events are sent after the response",
  async () => {
    const worker = await customer.write(
      "worker.js",
      `import { createClient } from "@tidings/client";
export default {
  async fetch(request, env, context) {
    const tidings = createClient({ baseUrl: env.TIDINGS_URL, apiKey: env.TIDINGS_KEY });
    tidings.capture({ channel: "edge", name: new URL(request.url).pathname });
    context.waitUntil(tidings.flush());
    return Response.json((await tidings.list({ channel: "unused" })).events);
  },
};`,
    );
    const built = await Bun.build({ entrypoints: [worker], target: "browser" });
    await customer.write("worker-bundle.js", await built.outputs[0]!.text());
    const configuration = await customer.write(
      "worker.capnp",
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker-bundle.js")],
  bindings = [(name = "TIDINGS_URL", text = "${app.address}"), (name = "TIDINGS_KEY", text = "${app.key}")],
  compatibilityDate = "2025-01-01",
);`,
    );
    // With this option, it prints its port.
    const child = Bun.spawn([workerd!, "serve", "--control-fd=1", configuration], {
      stdout: "pipe",
      stderr: "inherit",
    });
    try {
      let printed = "";
      const decoder = new TextDecoder();
      for await (const bytes of child.stdout) {
        printed += decoder.decode(bytes, { stream: true });
        if (printed.includes("\n")) break;
      }
      const { port } = JSON.parse(printed.slice(0, printed.indexOf("\n")));
      const requests = Array.from({ length: 5 }, (_, number) => fetch(`http://127.0.0.1:${port}/${number}`));
      for (const response of await Promise.all(requests)) expect(await response.json()).toEqual([]);
      await until(async () => (await app.list("?channel=edge")).length === 5);
      const names = (await app.list("?channel=edge")).map(({ name }) => name).sort();
      expect(names).toEqual(["/0", "/1", "/2", "/3", "/4"]);
    } finally {
      child.kill();
      await child.exited;
    }
  },
  60_000,
);

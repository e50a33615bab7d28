import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { reportErrors, reportRequests as reportExpress } from "./express.ts";
import { reportRequests as reportFastify } from "./fastify.ts";
import { reportRequests as reportHono } from "./hono.ts";
import { createClient, type TidingsClient } from "./index.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Serving = { fetch: (path: string) => Promise<unknown>; close: () => unknown };
type Options = { channel: string; tags: () => { region: string }; userId: () => string };
type Client = TidingsClient;

const frameworks: Record<string, (client: Client, options: Options) => Promise<Serving>> = {
  async express(client, options) {
    const site = express();
    site.use(
      reportExpress(client, {
        ...options,
        ignore: (request: express.Request) => request.path === "/healthz",
      }),
    );
    site.get("/healthz", (_, response) => void response.send("ok"));
    site.get("/orders/:id", (_, response) => void response.send("ok"));
    site.get("/broken/:id", () => {
      throw new Error("no stock");
    });
    site.use(reportErrors());
    site.use(
      (_: unknown, __: unknown, response: express.Response, ___: unknown) => void response.status(500).send(),
    );
    const server = site.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    return { fetch: (path) => fetch(`http://127.0.0.1:${port}${path}`), close: () => server.close() };
  },
  async hono(client, options) {
    const site = new Hono();
    site.use(reportHono(client, { ...options, ignore: ({ req }) => req.path === "/healthz" }));
    site.get("/healthz", (context) => context.text("ok"));
    site.get("/orders/:id", (context) => context.text("ok"));
    site.get("/broken/:id", () => {
      throw new Error("no stock");
    });
    site.onError((_, context) => context.text("no", 500));
    return { fetch: async (path) => site.request(path), close() {} };
  },
  async fastify(client, options) {
    const site = Fastify();
    await site.register(reportFastify(client, { ...options, ignore: ({ url }) => url === "/healthz" }));
    site.get("/healthz", async () => "ok");
    site.get("/orders/:id", async () => "ok");
    site.get("/broken/:id", async () => {
      throw new Error("no stock");
    });
    const address = await site.listen({ port: 0, host: "127.0.0.1" });
    return { fetch: (path) => fetch(address + path), close: () => site.close() };
  },
};

for (const [framework, serve] of Object.entries(frameworks)) {
  test(`requests of ${framework} are reported with their route, never with their path`, async () => {
    const captured: string[] = [];
    const tidings = createClient({
      baseUrl: app.address,
      apiKey: app.key,
      beforeSend(event) {
        captured.push(event.name);
        return event;
      },
    });
    const options = { channel: framework, tags: () => ({ region: "eu" }), userId: () => "u1" };
    const site = await serve(tidings, options);
    for (const path of ["/healthz", "/orders/ada@example.com?token=x", "/broken/7"]) await site.fetch(path);
    // The response can arrive before the server notices that it is finished.
    while (captured.length < 2) await Bun.sleep(5);
    await site.close();
    await tidings.shutdown();
    const events = await app.list(`?channel=${framework}&order=asc`);
    const durationMs = expect.stringMatching(/^\d+$/);
    const shared = { method: "GET", durationMs, region: "eu" };
    expect(events.map(({ name, userId, tags }) => ({ name, userId, tags }))).toEqual([
      { name: "Request finished", userId: "u1", tags: { ...shared, route: "/orders/:id", status: "200" } },
      {
        name: "Request failed",
        userId: "u1",
        tags: { ...shared, route: "/broken/:id", status: "500", error: "Error: no stock" },
      },
    ]);
  });
}

test("requests of Express's routers are reported with the paths that the routers are used at, also if they fail", async () => {
  const routes: unknown[] = [];
  const client = { capture: ({ tags }: { tags?: { route?: unknown } }) => void routes.push(tags?.route) };
  const site = express();
  site.set("env", "test");
  // Twice: both report the same.
  site.use(reportExpress(client));
  site.use(reportExpress(client));
  const fail = () => {
    throw new Error("no stock");
  };
  const orders = express.Router();
  orders.get("/good", (_, response) => void response.send("ok"));
  orders.get("/bad", fail);
  site.use(orders);
  site.use("/shops", express.Router().use("/orders", orders));
  site.get("/own", reportExpress(client), (_, response) => void response.send("ok"));
  // Express answers to errors itself.
  site.use(reportErrors());
  const server = site.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const found: Record<string, unknown[]> = {};
  for (const [path, reports] of [
    ["/good", 2],
    ["/bad", 2],
    ["/shops/orders/good", 2],
    ["/shops/orders/bad", 2],
    ["/own", 3],
    ["/nowhere", 2],
  ] as const) {
    await fetch(`http://127.0.0.1:${port}${path}`);
    while (routes.length < reports) await Bun.sleep(5);
    found[path] = [...new Set(routes.splice(0))];
  }
  server.close();
  expect(found).toEqual({
    "/good": ["/good"],
    "/bad": ["/bad"],
    "/shops/orders/good": ["/shops/orders/good"],
    "/shops/orders/bad": ["/shops/orders/bad"],
    "/own": ["/own"],
    "/nowhere": [undefined],
  });
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { every } from "./testing/every.ts";
import { rawRequest } from "./testing/raw-request.ts";
import { type Scenario, scenarios } from "./testing/scenarios.ts";
import { testProcess } from "./testing/server-process.ts";
import { type TestApp, testApp } from "./testing/test-app.ts";
import { until } from "./testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

describe("an unsupported method gets 405 and the supported ones", () => {
  const table: [method: string, path: string, allow: string[]][] = [
    ["PUT", "/api/events", ["GET", "HEAD", "POST"]],
    ["POST", "/api/events/stream", ["GET", "HEAD"]],
    ["POST", "/api/events/018f0000-0000-7000-8000-000000000000", ["GET", "HEAD"]],
    ["GET", "/api/projects/default", ["PATCH"]],
    ["POST", "/healthz", ["GET", "HEAD"]],
  ];
  for (const [method, path, allow] of table) {
    test(`${method} ${path}`, async () => {
      const response = await app.request(path, { method });
      expect(response.status).toBe(405);
      // More methods may be added later.
      expect(response.headers.get("allow")!.split(", ")).toEqual(expect.arrayContaining(allow));
      expect(response.headers.get("allow")!.split(", ")).not.toContain(method);
      expect(await response.json()).toMatchObject({ ok: false, type: "/problems/method-unknown" });
    });
  }

  scenarios(
    () => app,
    ["/api", "/api/", "/api/event", "/api/events/", "/api/events/a/b", "/api/keys/a/b"].map(
      (path): Scenario => ({
        name: `PUT ${path} is not there at all`,
        method: "PUT",
        path,
        status: 404,
        holds: { type: "/problems/route-unknown" },
      }),
    ),
  );
});

test("a page of another site can use an API key and read the responses", async () => {
  const fetchCrossSite = async (method: string, path: string) => {
    const origin = "https://shop.example";
    const headers = { origin, "access-control-request-method": method };
    const preflight = await fetch(app.address + path, { method: "OPTIONS", headers });
    expect([path, preflight.headers.get("access-control-allow-origin")]).toEqual([path, origin]);
    const response = await app.request(path, { method });
    expect([path, response.headers.get("access-control-allow-origin")]).toEqual([path, "*"]);
    return response;
  };
  for (const path of ["events", "channels", "stats", "users", "search/complete", "events/rejected"]) {
    await fetchCrossSite("GET", `/api/${path}`);
  }
  const { job } = (await (await fetchCrossSite("DELETE", "/api/users/u1")).json()) as { job: { id: string } };
  expect((await fetchCrossSite("GET", `/api/jobs/${job.id}`)).status).toBe(200);
});

test("a page of another site can't use a session", async () => {
  const cookie = await app.signIn();
  for (const path of ["events", "me", "keys", "projects"]) {
    for (const method of ["OPTIONS", "GET"]) {
      const { headers } = await fetch(`${app.address}/api/${path}`, {
        method,
        headers: { origin: "https://shop.example", "access-control-request-method": "GET", cookie },
      });
      // Without this header, browsers don't send cookies, or don't let the page read the response.
      expect([path, headers.get("access-control-allow-credentials")]).toEqual([path, null]);
    }
  }
});

describe("a body", () => {
  const head = (more: string) =>
    `POST /api/events HTTP/1.1\r\nhost: a\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\n${more}\r\n`;

  test("with invalid chunks is rejected with 400, and the connection closes", async () => {
    for (const chunk of ["zz\r\n{}\r\n", "-1\r\n{}\r\n", "ffffffffffffffffffff\r\n{}\r\n", "2 {}\r\n"]) {
      using request = await rawRequest(
        app.address,
        head("transfer-encoding: chunked\r\n"),
        chunk,
        "0\r\n\r\n",
      );
      await request.closed;
      expect([chunk, await request.status()]).toEqual([chunk, 400]);
    }
  });

  test("with two lengths or an invalid one is rejected with 400", async () => {
    for (const more of [
      "content-length: 2\r\ncontent-length: 3\r\n",
      "content-length: -1\r\n",
      "content-length: two\r\n",
      "content-length: 2\r\ntransfer-encoding: chunked\r\n",
    ]) {
      using request = await rawRequest(app.address, head(more), "{}");
      expect([more, await request.status()]).toEqual([more, 400]);
    }
  });

  test("that announces a size over the limit is rejected before it arrives", async () => {
    using request = await rawRequest(app.address, head("content-length: 999999999\r\n"));
    expect(await request.status()).toBe(413);
  });

  test("nested a hundred thousand levels deep is rejected anywhere", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const body of [
      deep,
      `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
      `{"channel":"a","name":"n","tags":{"a":${deep}}}`,
      `{"channel":${deep},"name":"n"}`,
      `{"channel":"a","name":"n","more":${deep}}`,
      "[".repeat(1_000_000),
      `{"name":${deep}}`,
    ]) {
      for (const path of ["/api/events", "/api/channels"]) {
        const response = await app.request(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
        expect([400, 413, 422]).toContain(response.status);
        expect(await response.json()).toMatchObject({ ok: false });
      }
    }
  });
});

test.concurrent("a request that arrives too slowly loses its connection, wherever it stalls", async () => {
  const event = '{"channel":"a","name":"slow"}';
  const headers = `host: a\r\nx-api-key: ${app.key}\r\ncontent-type: application/json\r\n`;
  const started = await Promise.all(
    [
      // A line or a part of it, and then more, slowly.
      ["POST /api/events HTTP/1.1\r\n", "x: y\r\n"],
      ["POST /api/events HTTP/1.1\r\nx: ", "y"],
      [`POST /api/events HTTP/1.1\r\n${headers}content-length: 1000\r\n\r\n{`, " "],
      [`POST /api/events HTTP/1.1\r\n${headers}transfer-encoding: chunked\r\n\r\n`, "1\r\n \r\n"],
      // A large array, whose permit others wait for.
      [`POST /api/events HTTP/1.1\r\n${headers}content-length: 9000000\r\n\r\n[`, " "],
      [`POST /api/events HTTP/1.1\r\n${headers}content-length: 9000000\r\n\r\n[${" ".repeat(70_000)}`, " "],
      [
        `POST /api/events HTTP/1.1\r\n${headers}transfer-encoding: chunked\r\n\r\n11170\r\n[${" ".repeat(69_999)}\r\n`,
        "1\r\n \r\n",
      ],
      [`POST /api/channels HTTP/1.1\r\n${headers}content-length: 1000\r\n\r\n{`, " "],
      // Rejected before the body is read, on all kinds of paths.
      ["POST /api/events HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n", " "],
      ["POST /api/nowhere HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\n \r\n"],
      ["GET /api/events/stream HTTP/1.1\r\nhost: a\r\n\r\n", ""],
      ["", ""],
    ].map(async ([start, more]) => ({ start, more: more!, request: await rawRequest(app.address, start!) })),
  );
  using _dawdling = every(1_000, () => {
    for (const { more, request } of started) if (more !== "") request.send(more);
  });
  const left = new Set(started.map(({ start }) => start));
  await Promise.race([
    Promise.all(started.map(({ start, request }) => request.closed.then(() => left.delete(start)))),
    Bun.sleep(30_000),
  ]);
  expect([...left]).toEqual([]);
  expect(await app.list()).toEqual([]);
  expect(
    (
      await app.request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: event,
      })
    ).status,
  ).toBe(201);
});

test.concurrent("clients that stop reading a listing cost nothing, and events are still accepted", async () => {
  await using own = await testProcess();
  const description = "d".repeat(10_000);
  for (let n = 0; n < 1_500; n += 500)
    await own.post(Array.from({ length: 500 }, () => ({ channel: "a", name: "n", description })));
  const startMb = await own.heldMb();
  const head = `GET /api/events HTTP/1.1\r\nhost: a\r\nx-api-key: ${own.key}\r\n\r\n`;
  async function stop() {
    const request = await rawRequest(own.address, head);
    await request.status();
    request.pause();
    return request;
  }
  const stopped = await Promise.all(Array.from({ length: 40 }, stop));
  for (let n = 0; n < 500; n++) expect((await own.post({ channel: "b", name: "n" })).status).toBe(201);
  // Each response would be 15 MB and keeps two.
  await own.heldDownTo(startMb + 150);
  // One that goes on in time gets everything. The others may have lost their connection by now.
  const resumed = await stop();
  resumed.resume();
  await until(() => resumed.endsWith("]}\r\n0\r\n\r\n"));
  expect(resumed.text.length).toBeGreaterThan(15_000_000);
  for (const request of [...stopped, resumed]) request[Symbol.dispose]();
});

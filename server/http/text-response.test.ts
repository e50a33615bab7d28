import { afterAll, beforeAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const events = Array.from({ length: 1_000 }, (_, index) => ({
    channel: "orders",
    name: "Order placed",
    userId: `cus_${index}`,
    tags: { product: "Geisha Reserve", country: "JP" },
    description: "A sentence about the order. ".repeat(10),
  }));
  expect((await app.post(events)).status).toBe(201);
});
afterAll(() => app[Symbol.asyncDispose]());

const get = (path: string, encoding: string, init: BunFetchRequestInit = {}) =>
  app.request(path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), "accept-encoding": encoding },
    decompress: false,
  } as RequestInit);

test("a response over 1 kB is gzipped on request, and reads the same", async () => {
  const { id } = (await app.list("?limit=1"))[0]!;
  const long = (await (
    await app.post({ channel: "orders", name: "Long", description: "word ".repeat(500) })
  ).json()) as { event: { id: string } };
  const pages = [
    "/api/events?limit=50",
    "/api/events?limit=1000&channel=orders",
    `/api/events/${long.event.id}`,
  ];
  for (const path of [...pages, "/api/users?limit=100", "/openapi.json"]) {
    const plain = await get(path, "identity");
    expect([path, plain.status, plain.headers.get("content-encoding")]).toEqual([path, 200, null]);
    const text = await plain.text();
    for (const encoding of ["gzip", "br, gzip;q=0.5", "*"]) {
      const response = await get(path, encoding);
      expect([path, encoding, response.headers.get("content-encoding")]).toEqual([path, encoding, "gzip"]);
      expect(response.headers.get("content-type")).toBe(plain.headers.get("content-type"));
      const bytes = await response.bytes();
      expect(bytes.length).toBeLessThan(text.length / 2);
      expect(Bun.hash(gunzipSync(bytes))).toBe(Bun.hash(text));
    }
    for (const encoding of ["", "br, zstd", "gzip;q=0, *"]) {
      const response = await get(path, encoding);
      expect([path, encoding, response.headers.get("content-encoding")]).toEqual([path, encoding, null]);
      expect(response.headers.get("vary")).toContain("accept-encoding");
      await response.body?.cancel();
    }
  }
  const small = await get(`/api/events?limit=1&channel=none&userId=${id}`, "gzip");
  expect([small.status, small.headers.get("content-encoding")]).toEqual([200, null]);
});

test("CSV and NDJSON pages are gzipped too", async () => {
  for (const format of ["csv", "ndjson"]) {
    const path = `/api/events?limit=50&format=${format}`;
    const response = await get(path, "gzip");
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(response.headers.get("x-next-cursor")).toBeTruthy();
    expect(gunzipSync(await response.bytes()).toString()).toBe(await (await get(path, "identity")).text());
  }
});

test("streams are never compressed", async () => {
  const listing = await get("/api/events", "gzip");
  expect([listing.status, listing.headers.get("content-encoding")]).toEqual([200, null]);
  expect(await listing.text()).toContain("Order placed");
  const stream = await openStream(app, "", { "accept-encoding": "gzip" });
  expect(stream.response.headers.get("content-encoding")).toBeNull();
  expect((await stream.next("ready"))?.type).toBe("ready");
  stream.close();
});

test("responses to methods other than GET, which may contain a secret, are never compressed", async () => {
  const batch = await get("/api/events", "gzip", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Array.from({ length: 100 }, () => ({ channel: "orders", name: "Order placed" }))),
  });
  expect([batch.status, batch.headers.get("content-encoding")]).toEqual([201, null]);
  expect((await batch.text()).length).toBeGreaterThan(1_000);
  const user = await get("/api/users/cus_1", "gzip", {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ biography: "word ".repeat(190).trim(), address: "street ".repeat(30).trim() }),
  });
  expect([user.status, user.headers.get("content-encoding")]).toEqual([200, null]);
  expect((await user.text()).length).toBeGreaterThan(1_000);
});

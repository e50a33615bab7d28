import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { csvHeader, csvRow } from "../event/event-format.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let events: Event[];
beforeAll(async () => {
  app = await testApp();
  for (let n = 0; n < 5_000; n += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        app.post({
          channel: `c${i % 3}`,
          name: `=SUM(${n + i})\u2028`,
          description: 'a "line",\n'.repeat(300),
        }),
      ),
    );
  events = await app.list();
});
afterAll(() => app[Symbol.asyncDispose]());

const formats = {
  "application/x-ndjson": (some: Event[]) => some.map((event) => `${JSON.stringify(event)}\n`).join(""),
  "text/csv": (some: Event[]) => csvHeader + some.map(csvRow).join(""),
};

for (const [accept, written] of Object.entries(formats)) {
  describe(`as ${accept}`, () => {
    const get = async (query: string) => {
      const response = await app.request(`/api/events?${query}`, { headers: { accept } });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(accept);
      expect(response.headers.get("vary")).toContain("accept");
      return response;
    };

    test("a listing has the same events as JSON", async () => {
      expect(await (await get("")).text()).toBe(written(events));
      expect(await (await get("order=asc&channel=c1")).text()).toBe(
        written(events.filter(({ channelId }) => channelId === "c1").reverse()),
      );
      expect(await (await get("channel=none")).text()).toBe(written([]));
    });

    test("pages continue from the header x-next-cursor", async () => {
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const response: Response = await get(`q=sum&limit=900${cursor && `&cursor=${cursor}`}`);
        seen.push((await response.text()).slice(written([]).length));
        cursor = response.headers.get("x-next-cursor");
      }
      expect(seen).toHaveLength(6);
      expect(written([]) + seen.join("")).toBe(written(events));
    });
  });
}

test("`format` makes browsers save a file", async () => {
  const csv = await app.request("/api/events?format=csv&limit=1", { headers: { accept: "text/html" } });
  expect(csv.headers.get("content-type")).toBe("text/csv");
  expect(csv.headers.get("content-disposition")).toBe('attachment; filename="events.csv"');
  const json = await app.request("/api/events?format=json&limit=1", { headers: { accept: "text/csv" } });
  expect(json.headers.get("content-type")).toBe("application/json");
  expect(json.headers.get("content-disposition")).toBeNull();
});

scenarios(
  () => app,
  [
    {
      name: "a format that is none is rejected",
      path: "/api/events?format=xml",
      status: 400,
      says: ["format"],
    },
  ],
);

test("readers that stop block neither ingest nor other readers", async () => {
  const stopped = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const ending = new AbortController();
      const accept = Object.keys(formats)[n % 2]!;
      const response = await app.request("/api/events", { headers: { accept }, signal: ending.signal });
      await response.body!.getReader().read();
      return ending;
    }),
  );
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, n) => app.post({ channel: "late", name: `${n}` })),
  );
  expect(answers.every(({ status }) => status === 201)).toBe(true);
  expect(await app.list("?channel=late")).toHaveLength(500);
  for (const ending of stopped) ending.abort();
  expect(await app.list("?channel=late&limit=1")).toHaveLength(1);
});

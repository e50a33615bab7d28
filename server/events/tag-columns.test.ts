// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app?.[Symbol.asyncDispose]());

const get = (query: string) => app.request(`/api/events?format=csv&tags=columns&channel=tagged${query}`);
const rows = async (query = "") => (await (await get(query)).text()).trim().split("\r\n");
const column = async (name: string, query = "") => {
  const [header, ...lines] = (await rows(query)).map((row) => row.split(","));
  return lines.map((cells) => cells[header!.indexOf(name)]);
};

test("the listing has the columns of its events, and the last one for what has none", async () => {
  await app.post({ channel: "tagged", name: "a", tags: { plan: "pro", "=x": "-1" } });
  await app.post({ channel: "tagged", name: "b", tags: { amount: "49", plan: "" } });
  await app.post({ channel: "tagged", name: "c" });
  const base = "id,createdAt,channelId,name,userId,notify,icon,event,description";
  expect((await rows())[0]).toBe(`${base},tags.=x,tags.amount,tags.plan,tags`);
  expect(await column("tags.plan")).toEqual(["", "", "pro"]);
  expect(await column("tags.=x")).toEqual(["", "", "'-1"]);
  expect(await column("tags")).toEqual(["", '"{""plan"":""""}"', ""]);
  // Only the tags of the events that are found.
  expect((await rows("&name=b"))[0]).toBe(`${base},tags.amount,tags.plan,tags`);
  expect(await rows("&name=none")).toEqual([`${base},tags`]);
});

test("a page has the columns of its own events", async () => {
  const response = await get("&limit=2");
  expect(response.headers.get("x-next-cursor")).not.toBeNull();
  expect((await response.text()).split("\r\n")[0]).toEndWith("description,tags.amount,tags.plan,tags");
});

test("the tags that most events have get the columns, the others stay together", async () => {
  const rare = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, `${n}`]));
  for (let first = 0; first < limits.csvTagColumns; first += 50)
    await app.post({
      channel: "many",
      name: "n",
      tags: Object.fromEntries(Object.entries(rare).map(([key, value]) => [`${first}${key}`, value])),
    });
  await app.post([
    { channel: "many", name: "n", tags: { often: "1" } },
    { channel: "many", name: "n", tags: { often: "2" } },
  ]);
  const text = await (await app.request("/api/events?format=csv&tags=columns&channel=many")).text();
  const header = text.split("\r\n")[0]!.split(",");
  expect(header.filter((name) => name.startsWith("tags.")).length).toBe(limits.csvTagColumns);
  expect(header).toContain("tags.often");
  expect(text).toContain('"{""');
});

test("other formats refuse it", async () => {
  const response = await app.request("/api/events?tags=columns");
  expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
    400,
    '"tags" applies to CSV only: add "format=csv".',
  ]);
});

// @engines sqlite, postgres, clickhouse
/** `GET /api/search/texts`: the names, tags and values of events. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await app.post({ channel: "c", name: "Order placed", tags: { plan: "pro", city: "Rome" } });
  await app.post({ channel: "c", name: "Order paid", tags: { plan: "free" } });
  await app.post({ channel: "c", name: "Signed up" });
});
afterAll(() => app[Symbol.asyncDispose]());

const texts = async (query: string) => (await app.request(`/api/search/texts?${query}`)).json();

test("names, tags and values are listed in order, also by their beginning", async () => {
  for (const [query, expected] of [
    ["of=name", ["Order paid", "Order placed", "Signed up"]],
    ["of=name&prefix=Order", ["Order paid", "Order placed"]],
    ["of=tag", ["city", "plan"]],
    ["of=value&key=plan", ["free", "pro"]],
    ["of=value&key=plan&prefix=p", ["pro"]],
    ["of=value&key=nothing", []],
  ] as const)
    expect([query, await texts(query)]).toEqual([query, { ok: true, texts: expected, isComplete: true }]);
});

test("a longer list says that it isn't complete", async () => {
  const tagged = (from: number) => ({
    channel: "many",
    name: "n",
    tags: Object.fromEntries(Array.from({ length: limits.tags }, (_, at) => [`key ${from + at}`, "v"])),
  });
  const events = Array.from({ length: limits.knownTexts / limits.tags + 1 }, (_, at) =>
    tagged(at * limits.tags),
  );
  await app.post(events);
  const list = (await texts("of=tag&prefix=key")) as { texts: string[]; isComplete: boolean };
  expect([list.texts.length, list.isComplete]).toEqual([limits.knownTexts, false]);
});

test("a key that is missing, or can't be used, is a mistake", async () => {
  for (const query of ["of=value", "of=name&key=plan", "of=user", ""])
    expect([query, (await app.request(`/api/search/texts?${query}`)).status]).toEqual([query, 400]);
});

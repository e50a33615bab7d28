import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let cookie: string;

beforeAll(async () => {
  app = await testApp();
  cookie = await app.signIn();
});
afterAll(() => app[Symbol.asyncDispose]());

async function detailOf(method: string, path: string, body?: unknown): Promise<string> {
  const headers = { cookie, origin: app.address, "content-type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await app.request(path, { method, headers, ...sent }, null);
  expect([400, 422]).toContain(response.status);
  return ((await response.json()) as { detail: string }).detail;
}

describe("invalid input is reported as a sentence that says what is valid", () => {
  const bodies: [body: unknown, says: string][] = [
    [[], "The body must be an object, not an array."],
    [7, "The body must be an object, not a number."],
    [{}, '"name" is missing.'],
    [{ name: 1 }, '"name" must be a string, not a number.'],
    [{ name: "a", icon: null }, '"icon" must be a string, not null.'],
    [{ name: "a", colour: "red" }, 'Unknown field "colour".'],
  ];
  for (const [body, says] of bodies) {
    test(`a channel ${JSON.stringify(body)}`, async () => {
      expect(await detailOf("POST", "/api/channels?project=default", body)).toBe(says);
    });
  }

  const queries: [path: string, says: string][] = [
    ["/api/events/rejected?limit=1000", '"limit" must be at most 200.'],
    ["/api/events/rejected?limit=0", '"limit" must be at least 1.'],
    ["/api/events/rejected?limit=x", '"limit" must be a number.'],
    ["/api/events?order=up", '"order" must be "asc" or "desc".'],
    ["/api/stats?by=year", '"by" must be "minute", "hour", "day", "week", or "month".'],
    ["/api/events?limi=1", 'Unknown parameter "limi". Did you mean "limit"?'],
    ["/api/events?q=chanel:x", 'Unknown field "chanel". Did you mean "channel:"?'],
  ];
  for (const [path, says] of queries) {
    test(path, async () => {
      expect(await detailOf("GET", `${path}&project=default`)).toBe(says);
    });
  }

  test("a switch", async () => {
    expect(await detailOf("PATCH", "/api/projects/default", { knownChannelsOnly: 1 })).toBe(
      '"knownChannelsOnly" must be true or false, not a number.',
    );
  });
});

import { expect } from "bun:test";
import type { TestApp } from "../../server/testing/test-app.ts";

/** The events of a site that answers `/orders/:id`, slowly `/slow`, with an error `/broken/:id`, and not `/nowhere`. */
export async function expectRequestEvents(
  app: TestApp,
  channel: string,
  { order, broken, error }: { order: string; broken: string; error: string },
): Promise<void> {
  const events = await app.list(`?channel=${channel}&order=asc`);
  const shared = { method: "GET", durationMs: expect.stringMatching(/^\d+$/), region: "eu" };
  expect(events.map(({ name, userId, tags }) => ({ name, userId, tags }))).toEqual([
    { name: "Request finished", userId: "u1", tags: { ...shared, route: order, status: "200" } },
    { name: "Request slow", userId: "u1", tags: { ...shared, route: "/slow", status: "200" } },
    { name: "Request failed", userId: "u1", tags: { ...shared, route: broken, status: "500", error } },
    { name: "Request finished", userId: "u1", tags: { ...shared, status: "404" } },
  ]);
}

import { expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { RecentEvents } from "./recent-events.ts";

const projectId = 1;
const event = (name: string): Event => ({
  id: "order-1",
  name,
  channelId: "orders",
  userId: "",
  notify: true,
  tags: {},
  createdAt: "2026-01-31T00:00:00.000Z",
});

function recentEvents() {
  const stored = event("stored");
  const events = new RecentEvents({ find: async () => JSON.stringify(stored) });
  const recent = event("recent");
  const json = JSON.stringify(recent);
  events.remember({ projectId, event: recent, json, arrival: { ms: 5, sequence: 0 } });
  return events;
}

test("an event is found in memory, and once it was deleted, in the store", async () => {
  const events = recentEvents();
  expect((await events.find(projectId, "order-1"))?.name).toBe("recent");
  expect((await events.find(2, "order-1"))?.name).toBe("stored");
  events.drop(["order-1"]);
  expect((await events.find(projectId, "order-1"))?.name).toBe("stored");
});

test("an event of another arrival isn't taken for one with the same id", async () => {
  const events = recentEvents();
  expect((await events.find(projectId, "order-1", 5))?.name).toBe("recent");
  expect((await events.find(projectId, "order-1", 6))?.name).toBe("stored");
});

import { expect, test } from "bun:test";
import { testApp } from "../testing/test-app.ts";

test("a quota that ends within a batch asks for a retry, which stores nothing twice", async () => {
  // The quota of a day would start anew at midnight.
  const noon = Date.UTC(2026, 0, 2, 12);
  await using app = await testApp({}, () => noon);
  const change = await app.request("/api/projects/default", {
    method: "PATCH",
    headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ eventsPerDay: 2 }),
  });
  expect(change.status).toBe(200);
  const send = (path: string, body: unknown) =>
    app.request(path, { method: "POST", body: JSON.stringify(body) });
  const ids = [1, 2, 3].map((n) => `0192f0c1-9c4a-7d3e-8b1f-00000000000${n}`);

  // `createdAt` is the server's, whose clock stands still.
  const batch = ids.map((messageId) => ({ type: "track", userId: "u", event: "e", messageId }));
  for (let attempt = 0; attempt < 2; attempt++) {
    const response = await send("/v1/batch", { batch });
    expect([response.status, response.headers.has("retry-after")]).toEqual([429, true]);
    expect((await app.list()).map(({ id }) => id).toSorted()).toEqual(ids.slice(0, 2));
  }

  const record = { body: { stringValue: "log" } };
  const statuses = [
    await send("/v1/logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
    await send("/batch/", { batch: [{ event: "e", distinct_id: "u" }] }),
    await send("/cloudevents", [{ specversion: "1.0", type: "t", source: "s", id: "1" }]),
    await send("/v1/log", { channel: "c", event: "e" }),
    await send(`/slack/${app.key}`, { text: "t" }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([429, 429, 429, 429, 429]);
  const { rejected } = (await (await app.request("/api/events/rejected")).json()) as { rejected: unknown[] };
  expect(rejected).toEqual([]);
});

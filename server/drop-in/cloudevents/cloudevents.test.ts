import { afterAll, beforeAll, expect, test } from "bun:test";
import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from "cloudevents";
import { type TestApp, testApp } from "../../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const data = { total: 49.5, paid: true, nested: { a: 1 }, source: "web", userId: "u1" };
const required = {
  type: "com.example.order.completed",
  source: "/shop/eu",
  time: "2026-01-02T03:04:05.678Z",
  data,
};
const orderEvent = () => new CloudEvent({ ...required, subject: "order 1", tenant: "acme" });
const stored = {
  name: "com.example.order.completed",
  userId: "u1",
  createdAt: "2026-01-02T03:04:05.678Z",
  tags: {
    source: "/shop/eu",
    subject: "order 1",
    tenant: "acme",
    total: "49.5",
    paid: "true",
    "nested.a": "1",
    "data.source": "web",
  },
};

for (const mode of [Mode.STRUCTURED, Mode.BINARY]) {
  test(`the package cloudevents emits in ${mode} mode`, async () => {
    const emit = emitterFor(httpTransport(`${app.address}/cloudevents?channel=${mode}`), { mode });
    const event = orderEvent();
    const options = { headers: { authorization: `Bearer ${app.key}` } };
    await emit(event, options);
    await emit(event, options);
    const [first, ...others] = await app.list(`?channel=${mode}`);
    expect(first).toMatchObject(stored);
    expect(first!.tags).toEqual(stored.tags);
    expect(others).toEqual([]);
  });
}

test("what data is decides what it becomes", async () => {
  const send = async (change: object, mode: "binary" | "structured") => {
    const { headers, body } = HTTP[mode](new CloudEvent({ ...required, ...change }));
    const init = { method: "POST", headers: headers as Record<string, string>, body: body as string };
    const response = await app.request("/cloudevents", init);
    expect(response.status).toBe(201);
    const { id } = (await response.json()) as { id: string };
    return (await app.list("?channel=cloudevents")).find((event) => event.id === id)!;
  };
  const source = "/shop/eu";
  const text = await send({ data: "some text", datacontenttype: "text/plain" }, "binary");
  expect([text.description, text.tags]).toEqual(["some text", { source }]);
  const list = await send({ data: [1, 2] }, "structured");
  expect(list.tags).toEqual({ source, data: "[1,2]" });
  const bytes = await send(
    { data: new Uint8Array([1, 2, 255]), datacontenttype: "application/octet-stream" },
    "structured",
  );
  expect(bytes.tags).toEqual({ source, datacontenttype: "application/octet-stream" });
  const named = await send({ channel: "cloudevents", userid: "u9", icon: "🚀", notify: true }, "structured");
  expect(named).toMatchObject({ userId: "u9", icon: "🚀", notify: true, tags: { userId: "u1" } });
});

test("what isn't an event of version 1.0 is rejected and kept", async () => {
  const event = { specversion: "1.0", id: "x", source: "/s", type: "incomplete" };
  for (const [change, detail] of [
    [{ specversion: undefined }, '"specversion" is missing'],
    [{ specversion: "9.9" }, '"specversion" must be "1.0"'],
    [{ source: undefined }, '"source" is missing'],
    [{ id: "" }, '"id" is missing'],
  ] as const) {
    const body = JSON.stringify({ ...event, ...change });
    const response = await app.request("/cloudevents", { method: "POST", body });
    const problem = (await response.json()) as { detail: string };
    expect([response.status, problem.detail]).toEqual([422, expect.stringContaining(detail)]);
    expect(await (await app.request("/api/events/rejected?limit=1")).text()).toContain(JSON.stringify(body));
  }
});

test("a batch is answered as an array of events is, and headers are percent-decoded", async () => {
  const batch = [
    { specversion: "1.0", id: "a", source: "/s", type: "batched" },
    { specversion: "1.0", id: "b", source: "/s" },
  ];
  const response = await app.request("/cloudevents", {
    method: "POST",
    headers: { "content-type": "application/cloudevents-batch+json" },
    body: JSON.stringify(batch),
  });
  expect(response.status).toBe(207);
  expect(await response.json()).toMatchObject({
    ok: false,
    accepted: 1,
    rejected: 1,
    results: [{ ok: true }, { status: 422 }],
  });
  const headers = { "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "Euro%20%E2%82%AC" };
  expect((await app.request("/cloudevents", { method: "POST", headers })).status).toBe(201);
  expect(await app.list(`?name=${encodeURIComponent("Euro €")}`)).toHaveLength(1);
});

test("the handshake of webhooks is answered", async () => {
  const headers = { "webhook-request-origin": "eventgrid.example.com", "webhook-request-rate": "120" };
  const response = await app.request("/cloudevents", { method: "OPTIONS", headers }, null);
  expect(response.status).toBe(200);
  expect(response.headers.get("allow")).toBe("POST");
  expect(response.headers.get("webhook-allowed-origin")).toBe("eventgrid.example.com");
  expect(response.headers.get("webhook-allowed-rate")).toBe("120");
});

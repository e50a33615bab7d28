import fc from "fast-check";
import { validEvent } from "./arbitraries.ts";
import type { TestApp } from "./test-app.ts";
import { untilJobDone } from "./until.ts";

const json = { "content-type": "application/json" };
const hourMs = 3_600_000;

/** Fills a server with data of every kind, through its API. */
export async function fillInstallation(app: TestApp, events: number): Promise<void> {
  const { secret: otherKey } = await app.another("Käthe's 💰", "other@example.com");
  const send = async (path: string, method: string, body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.request(path, { method, headers: { ...json, ...headers }, body: text });
    if (response.status >= 500) throw new Error(`${method} ${path} answered ${response.status}`);
    return response;
  };
  const owner = { cookie: await app.signIn(), origin: app.address };

  await send("/api/channels", "POST", { name: "empty", icon: "🫙", description: "Nothing yet" });
  await app.post({ channel: "a/b %? 💰", name: "n" });
  await send(`/api/channels/${encodeURIComponent("a/b %? 💰")}`, "PATCH", { retentionDays: 30, icon: "📬" });
  await send("/api/users/u%2F1", "PUT", '{"__proto__":"kept","plan":"pro","seats":5,"note":null}');
  await send("/api/identify", "POST", '{"userId":"u/1","anonymousId":"visitor"}');
  await send("/api/destinations", "POST", browser, owner);
  const mapping = { name: "{{type}}" };
  const webhook = { name: "Shop", source: "plain", channel: "c", mapping, secret: "not-needed" };
  const created = await send("/api/webhooks", "POST", webhook, owner);
  const { url } = (await created.json()) as { url: string };
  await fetch(url, { method: "POST", body: '{"type":"💰 \\u0000"}' });
  const heartbeat = { name: "Job", schedule: { type: "period", minutes: 5 } };
  const { url: pingUrl } = (await (await send("/api/heartbeats", "POST", heartbeat, owner)).json()) as {
    url: string;
  };
  await fetch(pingUrl, { method: "POST", body: "done" });
  await send("/api/invitations", "POST", { role: "viewer", email: "ada@example.com" }, owner);
  await app.addMember("admin@example.com", "admin");

  const everyId = Bun.randomUUIDv7();
  const sameMs = Date.now() - 40 * 24 * hourMs;
  const samples = fc.sample(validEvent, { numRuns: Math.min(events, 500), seed: 7 });
  const list = Array.from({ length: events }, (_, n) => ({
    channel: `channel ${n % 7}`,
    name: `Name ${n % 13}`,
    userId: `user ${n % 101}`,
    tags: { plan: n % 2 ? "pro" : "free", n: `${n}` },
    ...(n % 3 === 0 && samples[n % samples.length]),
    ...(n % 5 === 0 && { createdAt: sameMs }),
    ...(n % 11 === 0 && { createdAt: Date.now() - ((n * 7_919) % (1_500 * 24)) * hourMs }),
    ...(n % 13 === 0 && { id: Bun.randomUUIDv7() }),
    ...(n % 17 === 0 && { id: Bun.randomUUIDv7("hex", Date.now() - 5 * hourMs), createdAt: sameMs + n }),
    notify: n % 50 === 1,
  }));
  for (let at = 0; at < list.length; at += 500) {
    const body = JSON.stringify(list.slice(at, at + 500));
    const key = at % 1_000 === 0 ? app.key : otherKey;
    await send("/api/events", "POST", body, { "x-api-key": key });
  }
  // The same id in two projects, and events of a user to erase.
  for (const key of [app.key, otherKey]) await app.post({ channel: "c", name: "n", id: everyId }, key);
  for (let n = 0; n < 20; n++) await app.post({ channel: "c", name: "n", userId: "erased" });

  await send("/api/events", "POST", '{"channel":\0"💰');
  await send("/api/events", "POST", { channel: "c", name: 7 });
  await send("/api/events", "POST", { channel: "c" }, { "x-api-key": otherKey });
  await send("/api/events", "POST", { channel: "c", name: "once" }, { "idempotency-key": "key 1" });
  await send("/api/events", "POST", [{ channel: "c", name: "once" }, { channel: 7 }], {
    "idempotency-key": "key 2",
  });

  await untilJobDone(app, await app.request("/api/users/erased", { method: "DELETE" }));
  await send("/api/projects", "POST", { name: "Gone" }, owner);
  await untilJobDone(
    app,
    await app.request("/api/projects/gone?confirm=gone", { method: "DELETE", headers: owner }),
    {
      headers: owner,
    },
  );
}

/** A push subscription whose service does not exist. */
const browser = {
  kind: "browser",
  label: "Chromium on Linux",
  subscription: {
    endpoint: "https://push.invalid/device",
    keys: {
      p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: "BTBZMqHH6r4Tts7J_aSIgg",
    },
  },
};

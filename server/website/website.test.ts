/** The addresses of the script of web pages, and what they reject. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Problem } from "../core/problems.ts";
import type { AuditEntry } from "../schemas/audit.ts";
import type { Board } from "../schemas/board.ts";
import type { TileData } from "../schemas/tile-data.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { pageEvent, sendPageEvents, websiteKey } from "../testing/website-visits.ts";

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  key = await websiteKey(app);
});
afterAll(() => app[Symbol.asyncDispose]());

async function problemOf(response: Response): Promise<{ status: number; detail: string }> {
  // Without it, a page couldn't tell a rejection from a lost connection, and would send again and again.
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  const { status, detail } = (await response.json()) as Problem;
  return { status, detail };
}

describe("the script", () => {
  test("is at /t.js and at any name, for pages of all sites", async () => {
    const bodies = await Promise.all(
      ["/t.js", "/s/app.js", "/s/any-name_1.js"].map(async (path) => {
        const response = await fetch(app.address + path);
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
        expect(response.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
        expect(response.headers.get("access-control-allow-origin")).toBe("*");
        expect(response.headers.get("cache-control")).toBe("public, max-age=86400");
        return response.text();
      }),
    );
    expect(new Set(bodies).size).toBe(1);
    for (const path of ["/s/app", "/s/a.b.js", `/s/${"x".repeat(65)}.js`])
      expect((await fetch(app.address + path)).status).toBe(404);
  });

  test("has an address for its version, which never changes", async () => {
    const current = await fetch(`${app.address}/t.js`);
    const hash = /"(\w+)"/.exec(current.headers.get("etag")!)![1]!;
    for (const path of [`/t/${hash}.js`, `/s/app/${hash}.js`]) {
      const response = await fetch(app.address + path);
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const digest = new Bun.CryptoHasher("sha384").update(await response.bytes()).digest("base64");
      expect(response.headers.get("x-integrity")).toBe(`sha384-${digest}`);
    }
    expect((await fetch(`${app.address}/t/0123456789abcdef.js`)).status).toBe(404);
    const headers = { "if-none-match": current.headers.get("etag")! };
    expect((await fetch(`${app.address}/t.js`, { headers })).status).toBe(304);
  });

  test("is sent compressed", async () => {
    for (const encoding of ["br", "gzip"]) {
      const response = await fetch(`${app.address}/t.js`, { headers: { "accept-encoding": encoding } });
      expect(response.headers.get("content-encoding")).toBe(encoding);
      expect(await response.text()).toContain("Page view");
    }
  });
});

describe("sending", () => {
  test("works at the script's own address, as text or JSON", async () => {
    for (const [path, type] of [
      ["/t", "text/plain"],
      ["/s/app", "application/json"],
    ] as const) {
      const event = pageEvent();
      const response = await sendPageEvents(app, key, [event], { path, headers: { "content-type": type } });
      expect(response.status).toBe(204);
      expect((await app.request(`/api/events/${event.id}`)).status).toBe(200);
    }
  });

  test("needs a publishable key", async () => {
    expect(await problemOf(await sendPageEvents(app, app.key, [pageEvent()]))).toEqual({
      status: 403,
      detail:
        "Everyone who opens the page can read this key, and it is a secret one. Revoke it, and use a publishable key.",
    });
    expect((await problemOf(await sendPageEvents(app, "", [pageEvent()]))).status).toBe(401);
    expect((await problemOf(await sendPageEvents(app, "tdg_pk_x", [pageEvent()]))).status).toBe(401);
  });

  test("is allowed from the key's origins only", async () => {
    const limited = await websiteKey(app, "default", { origins: ["https://shop.example.com"] });
    const from = (origin: string) => sendPageEvents(app, limited, [pageEvent()], { headers: { origin } });
    expect((await from("https://shop.example.com")).status).toBe(204);
    expect((await problemOf(await from("https://evil.example.com"))).status).toBe(403);
  });

  test("is limited by the key's rate", async () => {
    const slow = await websiteKey(app, "default", { eventsPerSecond: 1 });
    const events = Array.from({ length: 10 }, () => pageEvent());
    expect((await sendPageEvents(app, slow, events)).status).toBe(204);
    expect((await problemOf(await sendPageEvents(app, slow, events))).status).toBe(429);
  });

  test("is limited for wrong bodies, too", async () => {
    const slow = await websiteKey(app, "default", { eventsPerSecond: 1 });
    const statuses: number[] = [];
    for (let request = 0; request < 12; request++)
      statuses.push((await sendPageEvents(app, slow, [], { visitor: "?" })).status);
    expect(statuses[0]).toBe(422);
    expect(statuses.at(-1)).toBe(429);
  });

  test("takes bodies of the right form and size", async () => {
    const many = Array.from({ length: limits.websiteEvents + 1 }, () => pageEvent());
    expect((await problemOf(await sendPageEvents(app, key, many))).detail).toContain("at most 50 events");
    expect((await problemOf(await sendPageEvents(app, key, []))).status).toBe(422);
    const large = [pageEvent({ tags: { text: "x".repeat(limits.requestBytes) } })];
    expect((await problemOf(await sendPageEvents(app, key, large))).status).toBe(413);
    const html = { headers: { "content-type": "text/html" } };
    expect((await problemOf(await sendPageEvents(app, key, [pageEvent()], html))).status).toBe(415);
    const garbled = await fetch(`${app.address}/t`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: "{",
    });
    expect((await problemOf(garbled)).status).toBe(400);
  });

  test("records what is right, and keeps what isn't as rejected events", async () => {
    const right = pageEvent();
    const response = await sendPageEvents(app, key, [
      { ...pageEvent(), id: "no-id" },
      right,
      { ...pageEvent(), url: "javascript:alert(1)" },
      { ...pageEvent(), url: `https://shop.example.com/${"x".repeat(8_000)}` },
      { id: Bun.randomUUIDv7() },
      null as unknown as object,
    ]);
    expect(response.status).toBe(204);
    expect((await app.request(`/api/events/${right.id}`)).status).toBe(200);
    const { rejected } = (await (await app.request("/api/events/rejected?limit=5")).json()) as {
      rejected: { problem: { detail: string } }[];
    };
    const details = rejected.map(({ problem }) => problem.detail);
    expect(details).toContainEqual(expect.stringContaining('Website: "id" must be a UUIDv7'));
    expect(details).toContainEqual('Website: "url" must be the address of a page, with http or https.');
    expect(details).toHaveLength(5);
  });
});

describe("the board", () => {
  const call = async <Body>(path: string, init: RequestInit = {}, secret?: string) =>
    (await (await app.request(path, init, secret)).json()) as Body;

  test("is made when the first page view comes, once", async () => {
    const other = await app.another("Site", "site@example.com");
    const siteKey = await websiteKey(app, other.slug);
    const cookie = await app.signIn("site@example.com");
    const publicTiles = async (id: string) => {
      const init = { method: "POST", headers: { cookie, origin: app.address } };
      const { link } = await call<{ link: string }>(`/api/boards/${id}/link?project=${other.slug}`, init);
      const token = link.split("/").at(-1)!;
      const { board } = await call<{ board: { tiles: Record<string, unknown>[] } }>(
        `/api/public/boards/${token}`,
      );
      return { token, tiles: board.tiles };
    };
    const boards = async () => (await call<{ boards: Board[] }>("/api/boards", {}, other.secret)).boards;
    const names = async () => (await boards()).map(({ name }) => name);
    await sendPageEvents(app, siteKey, [pageEvent({ name: "Signed up" })]);
    expect(await names()).toEqual(["Overview"]);
    await Promise.all([1, 2, 3].map(() => sendPageEvents(app, siteKey, [pageEvent()])));
    expect(await names()).toEqual(["Overview", "Website"]);
    const { entries } = await call<{ entries: AuditEntry[] }>(
      "/api/audit?action=board.created",
      {},
      other.secret,
    );
    expect(entries[0]).toMatchObject({ target: "Website", actor: { kind: "server" } });

    const { id } = (await boards()).at(-1)!;
    // With its public link, a board shows no searches.
    const { token, tiles } = await publicTiles(id);
    const visits = tiles.find((tile) => tile.id === "visits")!;
    expect(visits).toMatchObject({ type: "sessions", show: "sessions" });
    expect(visits).not.toHaveProperty("q");
    expect(visits).not.toHaveProperty("activity");
    const { data } = await call<{ data: TileData }>(`/api/public/boards/${token}/tiles/visits/data`);
    expect(data).toMatchObject({ type: "number", value: 1 });
    await app.request(`/api/boards/${id}`, { method: "DELETE" }, other.secret);
    await sendPageEvents(app, siteKey, [pageEvent()]);
    await app.restart();
    await sendPageEvents(app, siteKey, [pageEvent()]);
    expect(await names()).toEqual(["Overview"]);
  });
});

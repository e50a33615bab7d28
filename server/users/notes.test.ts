// @engines sqlite, postgres
// @long postgres
/** What is known of a user besides events: notes, cohorts, and what happened before an event. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { UserNote } from "../schemas/user-note.ts";
import { auditOf, memberSession } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
let owner: Record<string, string>;
let member: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  owner = { cookie: await app.signIn(), origin: app.address };
  member = { cookie: await memberSession(app, "mia@example.com"), origin: app.address };
});
afterAll(() => app[Symbol.asyncDispose]());

type Failure = { type: string; detail: string };
const call = jsonCalls<{ note: UserNote }>(
  () => app,
  () => owner,
);
const notesOf = async (userId: string): Promise<UserNote[]> =>
  (await call<{ notes: UserNote[] }>("GET", `/api/users/${encodeURIComponent(userId)}/notes`)).notes;

test("members write notes, the newest first, and each changes only their own", async () => {
  const { note: first } = await call("POST", "/api/users/ann/notes", { text: "Pays by invoice." }, 201);
  expect(first).toMatchObject({ text: "Pays by invoice.", author: { name: expect.any(String) } });
  const { note: second } = await call("POST", "/api/users/ann/notes", { text: "Called." }, 201, member);
  expect((await notesOf("ann")).map(({ text }) => text)).toEqual(["Called.", "Pays by invoice."]);
  const path = (note: UserNote) => `/api/users/ann/notes/${note.id}`;
  const refused = await call<Failure>("PATCH", path(first), { text: "No." }, 403, member);
  expect(refused.detail).toContain("Only its author");
  expect((await call<Failure>("DELETE", path(first), undefined, 403, member)).detail).toContain("admins");
  const { note: changed } = await call("PATCH", path(second), { text: "Called twice." }, 200, member);
  expect(changed.version).not.toBe(second.version);
  const stale = { ...member, "if-match": `"${second.version}"` };
  await call("PATCH", path(second), { text: "Late." }, 412, stale);
  // An owner may delete, not rewrite, what others wrote.
  await call("PATCH", path(second), { text: "Other words." }, 403);
  await call("DELETE", path(second));
  await call("DELETE", path(second), undefined, 404);
  expect((await notesOf("ann")).map(({ text }) => text)).toEqual(["Pays by invoice."]);
  await call("PATCH", `/api/users/bo/notes/${first.id}`, { text: "Of another." }, 404);
  const long = "x".repeat(limits.userNoteCharacters + 1);
  for (const text of ["", " \n", long, "a\u0000b"]) await call("POST", "/api/users/ann/notes", { text }, 422);
});

test("a key reads notes and writes none, and the audit log has neither text nor user", async () => {
  const response = await app.request("/api/users/ann/notes", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text: "From a key." }),
  });
  expect(response.status).toBe(403);
  expect((await app.request("/api/users/ann/notes")).status).toBe(200);
  for (const action of ["user-note.created", "user-note.changed", "user-note.deleted"] as const) {
    const entries = await auditOf(app, action);
    expect(entries.length).toBeGreaterThan(0);
    expect(JSON.stringify(entries)).not.toMatch(/ann|Called|invoice/);
  }
});

test("a person's notes are found by any ID, and apart again after a split", async () => {
  await call("POST", "/api/users/visitor-1/notes", { text: "Asked about prices." }, 201);
  await call("POST", "/api/users/cy/notes", { text: "Signed." }, 201);
  await call("POST", "/api/identify", { userId: "cy", anonymousId: "visitor-1" });
  for (const userId of ["cy", "visitor-1"])
    expect((await notesOf(userId)).map(({ text }) => text)).toEqual(["Signed.", "Asked about prices."]);
  await call("POST", "/api/users/visitor-1/split", {});
  expect((await notesOf("visitor-1")).map(({ text }) => text)).toEqual(["Asked about prices."]);
});

test("the cohorts of a person are listed, by any ID", async () => {
  await app.post({ channel: "shop", name: "Order placed", userId: "dora" });
  await call("POST", "/api/identify", { userId: "dora", anonymousId: "visitor-dora" });
  const create = (name: string, conditions: object[]) =>
    call("POST", "/api/cohorts", { name, conditions }, 201);
  await create("Buyers", [{ type: "users", userIds: ["dora"] }]);
  await create("Others", [{ type: "users", userIds: ["somebody"] }]);
  await until(async () => {
    const { cohorts } = await call<{ cohorts: { name: string }[] }>("GET", "/api/users/visitor-dora/cohorts");
    return cohorts.map(({ name }) => name).join() === "Buyers";
  });
});

test("what happened before an event is of the same person, by pages", async () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 9, minute)).toISOString();
  const send = (userId: string, name: string, minute: number) =>
    app.post({ channel: "shop", name, userId, createdAt: at(minute) });
  await send("visitor-eva", "seen", 1);
  await send("eva", "opened", 2);
  await send("fred", "of another", 3);
  await send("eva", "failed", 4);
  await send("eva", "came back", 5);
  await app.post({ channel: "shop", name: "nobody's", createdAt: at(6) });
  await call("POST", "/api/identify", { userId: "eva", anonymousId: "visitor-eva" });
  const [failed] = await app.list("?name=failed");
  type Page = { events: Event[]; nextCursor: string | null };
  const before = (query = "") => call<Page>("GET", `/api/events/${failed!.id}/before${query}`);
  expect((await before()).events.map(({ name }) => name)).toEqual(["opened", "seen"]);
  const first = await before("?limit=1");
  expect(first.events.map(({ name }) => name)).toEqual(["opened"]);
  const second = await before(`?limit=1&cursor=${first.nextCursor}`);
  expect(second).toMatchObject({ events: [{ name: "seen" }], nextCursor: null });
  const [nobodys] = await app.list(`?q=${encodeURIComponent(`name:"nobody's"`)}`);
  expect((await call<Page>("GET", `/api/events/${nobodys!.id}/before`)).events).toEqual([]);
  await call("GET", "/api/events/01900000-0000-7000-8000-000000000000/before", undefined, 404);
});

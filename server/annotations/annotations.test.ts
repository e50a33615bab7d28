// @engines sqlite, postgres
// @long postgres
/** Annotations by API: who may change them, and which marks a chart gets. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { Annotation, MarkList } from "../schemas/annotation.ts";
import { auditOf } from "../testing/account-calls.ts";
import { effort } from "../testing/engine.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let session: Record<string, string>;
let viewer: Record<string, string>;
let member: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  await app.addMember("vera@example.com", "viewer");
  await app.addMember("mia@example.com", "member");
  const headers = { origin: app.address, "content-type": "application/json" };
  session = { ...headers, cookie: await app.signIn() };
  viewer = { ...headers, cookie: await app.signIn("vera@example.com") };
  member = { ...headers, cookie: await app.signIn("mia@example.com") };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ annotation: Annotation }>(
  () => app,
  () => session,
);

async function annotate(fields: object, headers = session): Promise<Annotation> {
  return (await call("POST", "/api/annotations", fields, 201, headers)).annotation;
}

const marksIn = (query: string) => call<MarkList>("GET", `/api/annotations/marks?${query}`);
const remove = ({ id }: Annotation) => call("DELETE", `/api/annotations/${id}`);
const march = "from=2026-03-01T00:00:00Z&to=2026-04-01T00:00:00Z";
const note = { type: "note", name: "Price change", at: "2026-03-09" };

test("a member creates, changes and deletes; a viewer only reads, and a key needs the scope manage", async () => {
  const made = await annotate({ ...note, icon: "💶", color: 3 }, member);
  expect(made).toMatchObject({ ...note, icon: "💶", color: 3, board: null, createdBy: "mia@example.com" });
  const path = `/api/annotations/${made.id}`;
  expect(await call("GET", path, undefined, 200, viewer)).toMatchObject({ annotation: made });
  await call("POST", "/api/annotations", note, 403, viewer);
  await call("PATCH", path, { name: "No" }, 403, viewer);
  await call("DELETE", path, undefined, 403, viewer);
  const scopes = { name: "Reader", scopes: ["ingest", "read"] };
  const reader = { "x-api-key": (await call<{ secret: string }>("POST", "/api/keys", scopes, 201)).secret };
  await call("GET", "/api/annotations/marks", undefined, 200, reader);
  await call("POST", "/api/annotations", note, 403, reader);
  const at = "2026-03-09T10:00:00+01:00";
  const { annotation } = await call("PATCH", path, { at, icon: null }, 200, member);
  expect(annotation).toMatchObject({ name: note.name, at: "2026-03-09T09:00:00.000Z", icon: null, color: 3 });
  await call("DELETE", path, undefined, 200, member);
  await call("GET", path, undefined, 404);
  for (const action of ["created", "changed", "deleted"] as const)
    expect(await auditOf(app, `annotation.${action}`)).toMatchObject([
      { target: note.name, actor: "mia@example.com" },
    ]);
});

test("the audit log keeps no search, which may name a user who is erased later", async () => {
  const made = await annotate({ type: "events", name: "Hers", q: "user:ada" });
  await call("PATCH", `/api/annotations/${made.id}`, { q: "user:bob" });
  const created = (await auditOf(app, "annotation.created")).at(-1);
  const changed = (await auditOf(app, "annotation.changed")).at(-1);
  expect(created).toMatchObject({ target: "Hers", detail: { id: made.id, type: "events" } });
  expect(changed).toMatchObject({ target: "Hers", detail: { id: made.id, fields: ["q"] } });
  expect(JSON.stringify([created, changed])).not.toContain("user:");
  await remove(made);
});

test("what can't be an annotation is rejected, with the field that is wrong", async () => {
  const events = { type: "events", name: "Deployment", q: "channel:deploys" };
  const mistakes: [body: object, pointer: string][] = [
    [{ ...note, at: "2026-02-30" }, "/at"],
    [{ ...note, at: "yesterday" }, "/at"],
    [{ ...note, at: "2026-03-09T10:00:00" }, "/at"],
    [{ ...note, board: "none" }, "/board"],
    [{ ...note, color: 9 }, "/color"],
    [{ ...note, name: "" }, "/name"],
    [{ ...note, q: "a" }, "/q"],
    [{ ...events, q: " " }, "/q"],
    [{ ...events, q: "(" }, "/q"],
    [{ ...events, at: "2026-03-09" }, "/at"],
  ];
  for (const [body, pointer] of mistakes)
    expect(await call<object>("POST", "/api/annotations", body, 422)).toMatchObject({
      errors: [{ pointer }],
    });
  const made = await annotate(events);
  expect(await call<object>("PATCH", `/api/annotations/${made.id}`, { at: note.at }, 422)).toMatchObject({
    errors: [{ pointer: "/at", detail: '"at" is only a field of notes.' }],
  });
  await call("GET", "/api/annotations/marks?timeZone=Mars/Base", undefined, 400);
  await call(
    "GET",
    "/api/annotations/marks?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z",
    undefined,
    400,
  );
  await remove(made);
});

test("a chart gets the events of a search while it is turned on, and the notes of the project and of its board", async () => {
  const deploy = (day: string, name: string) =>
    app.post({ channel: "deploys", name, icon: "🚀", createdAt: `2026-03-${day}T12:00:00.000Z` });
  await deploy("05", "Deployed 1.1");
  await deploy("20", "Deployed 1.2");
  await app.post({ channel: "other", name: "Not marked", createdAt: "2026-03-06T12:00:00Z" });
  const { boards } = await call<{ boards: { id: string }[] }>("GET", "/api/boards");
  const board = boards[0]!.id;
  const made = [
    await annotate({ type: "events", name: "Deployment", q: "channel:deploys", color: 4 }),
    await annotate({ ...note, name: "Sale" }),
    await annotate({ ...note, name: "Of the board", at: "2026-03-10T08:00:00Z", board }),
    await annotate({ ...note, name: "Of another month", at: "2026-05-10" }),
  ];
  const { marks, omitted } = await marksIn(`${march}&timeZone=Europe/Berlin&board=${board}`);
  expect(marks.map(({ name, at, until, event }) => [name, at, until, event?.name])).toEqual([
    ["Deployment", "2026-03-05T12:00:00.000Z", null, "Deployed 1.1"],
    ["Sale", "2026-03-08T23:00:00.000Z", "2026-03-09T23:00:00.000Z", undefined],
    ["Of the board", "2026-03-10T08:00:00.000Z", null, undefined],
    ["Deployment", "2026-03-20T12:00:00.000Z", null, "Deployed 1.2"],
  ]);
  expect(marks[0]).toMatchObject({
    annotation: made[0]!.id,
    type: "events",
    color: 4,
    event: { icon: "🚀" },
  });
  expect(omitted).toEqual([]);
  expect((await marksIn(march)).marks.map(({ name }) => name)).not.toContain("Of the board");
  await call("PATCH", `/api/annotations/${made[0]!.id}`, { enabled: false });
  expect((await marksIn(march)).marks.map(({ name }) => name)).toEqual(["Sale"]);
  const { annotations } = await call<{ annotations: Annotation[] }>("GET", "/api/annotations?type=note");
  expect(annotations.map(({ name }) => name)).toEqual(["Of another month", "Of the board", "Sale"]);
  for (const each of made) await remove(each);
});

test("with more marks than a chart draws, the newest are listed and the others counted", async () => {
  const many = limits.annotationMarks + 20;
  const events = Array.from({ length: many }, (_, index) => ({
    channel: "ticks",
    name: `Tick ${index}`,
    createdAt: new Date(Date.UTC(2026, 6, 1) + index * 60_000).toISOString(),
  }));
  await app.post(events);
  const july = "from=2026-07-01T00:00:00Z&to=2026-08-01T00:00:00Z";
  const ticks = await annotate({ type: "events", name: "Ticks", q: "channel:ticks" });
  const older = await annotate({ ...note, name: "Older", at: "2026-07-01T00:00:30Z" });
  const oldest = await annotate({ ...note, name: "Oldest", at: "2026-07-01T00:00:10Z" });
  const newer = await annotate({ ...note, name: "Newer", at: "2026-07-02" });
  const { marks, omitted } = await marksIn(july);
  expect(marks).toHaveLength(limits.annotationMarks);
  expect(marks.at(-1)!.name).toBe("Newer");
  expect(omitted).toEqual([
    { annotation: null, name: "Notes", count: 2 },
    { annotation: ticks.id, name: "Ticks", count: many - limits.annotationMarks + 1 },
  ]);
  for (const each of [ticks, older, oldest, newer]) await remove(each);
});

test("a note of a day is in each range that the day is in, in any time zone", async () => {
  const zones = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York", "Australia/Lord_Howe"];
  const made = await annotate({ ...note, at: "2026-10-25" });
  const zone = fc.constantFrom(...zones);
  const hours = fc.integer({ min: 0, max: 96 });
  await fc.assert(
    fc.asyncProperty(zone, hours, hours, async (timeZone, first, length) => {
      const fromMs = Date.UTC(2026, 9, 23) + first * 3_600_000;
      const toMs = fromMs + (length + 1) * 3_600_000;
      const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
      const { marks } = await marksIn(`${range}&timeZone=${timeZone}`);
      const day = Temporal.PlainDate.from("2026-10-25");
      const startMs = day.toZonedDateTime(timeZone).epochMilliseconds;
      const endMs = day.add({ days: 1 }).toZonedDateTime(timeZone).epochMilliseconds;
      expect(marks.map(({ at, until }) => [Date.parse(at), Date.parse(until!)])).toEqual(
        startMs < toMs && endMs > fromMs ? [[startMs, endMs]] : [],
      );
    }),
    { numRuns: effort(30, 200) },
  );
  await remove(made);
});

test("notes go with their board and return with it, and a project has only so many searches and notes", async () => {
  const { board } = await call<{ board: { id: string } }>("POST", "/api/boards", { name: "Short" }, 201);
  const made = await annotate({ ...note, board: board.id });
  const list = () => call<{ annotations: Annotation[] }>("GET", "/api/annotations?type=note");
  const ofBoard = `${march}&board=${board.id}`;
  expect((await marksIn(ofBoard)).marks).toHaveLength(1);
  await call("DELETE", `/api/boards/${board.id}`);
  expect((await marksIn(ofBoard)).marks).toEqual([]);
  expect((await list()).annotations).toEqual([]);
  await call("POST", `/api/boards/${board.id}/restore`);
  expect((await marksIn(ofBoard)).marks).toHaveLength(1);
  expect((await list()).annotations).toEqual([made]);
  await call("DELETE", `/api/boards/${board.id}`);
  await call<object>("POST", "/api/annotations", { ...note, board: board.id }, 422);
  for (let count = 0; count < limits.eventAnnotations; count++)
    await annotate({ type: "events", name: `Search ${count}`, q: "channel:none" });
  const more = { type: "events", name: "More", q: "channel:none" };
  expect(await call<object>("POST", "/api/annotations", more, 409)).toMatchObject({
    detail: `A project can have at most ${limits.eventAnnotations} annotations by a search. Delete one that you no longer need.`,
  });
  const { control } = app.running.store;
  const row = await control
    .selectFrom("annotations")
    .selectAll()
    .where("id", "=", made.id)
    .executeTakeFirstOrThrow();
  const notes = Array.from({ length: limits.noteAnnotations - 1 }, () => ({
    ...row,
    id: Bun.randomUUIDv7(),
  }));
  for (let from = 0; from < notes.length; from += 500)
    await control
      .insertInto("annotations")
      .values(notes.slice(from, from + 500))
      .execute();
  expect(await call<object>("POST", "/api/annotations", note, 409)).toMatchObject({
    detail: `A project can have at most ${limits.noteAnnotations.toLocaleString("en")} notes. Delete one that you no longer need.`,
  });
});

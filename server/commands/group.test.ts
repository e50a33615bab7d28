// @engines sqlite, postgres
// @long
/** Groups and users on the command line, beside a server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { environmentOf } from "../testing/engine.ts";
import { runTidings } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const run = (...args: string[]) => runTidings([...args, "--project", "default"], environmentOf(app.config));
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}

test("groups are saved, listed, shown and deleted, with their members", async () => {
  await app.post({ channel: "shop", name: "Signed up", userId: "ann" });
  await done("group", "save", "company", "acme", "--properties", '{"plan":"team"}', "--user", "ann");
  await done("group", "add", "company", "acme", "bo");
  expect(await done("group", "types")).toMatch(/company +1/);
  expect(await done("group", "list", "company")).toMatch(/acme +2 +1 +2/);
  expect(JSON.parse(await done("group", "list", "company", "--q", "plan:team", "--json"))).toMatchObject({
    id: "acme",
    people: 2,
    properties: { plan: "team" },
  });
  const shown = await done("group", "show", "company", "acme");
  expect(shown).toMatch(/plan +team/);
  expect(shown).toMatch(/Signed up +1/);
  expect(shown).toMatch(/ann +1/);
  // The server finds what the command saved.
  expect((await app.list("?q=company:acme")).map(({ userId }) => userId)).toEqual(["ann"]);
  await done("group", "remove", "company", "acme", "ann");
  expect(await app.list("?q=company:acme")).toEqual([]);
  await done("group", "delete", "company", "acme");
  expect(await done("group", "types")).toBe("TYPE  GROUPS\n");
});

test("mistakes say what to do", async () => {
  for (const [args, says] of [
    [["group", "show", "company", "missing"], "no group of this type"],
    [["group", "add", "company", "missing", "ann"], "no group of this type"],
    [["group", "save", "user", "acme"], "must not be a field of searches"],
    [["group", "save", "company", "acme", "--properties", "plan=pro"], "must be a JSON object"],
    [["group", "save", "company", "acme", "--properties", '{"a":{}}'], "can't be nested"],
    [["user", "show", "nobody"], 'has no user "nobody"'],
    [["user", "show", "ann", "--before", "x"], 'has no event "x"'],
  ] as const) {
    const { code, stderr } = await run(...args);
    expect([args, code === 0, stderr]).toEqual([args, false, expect.stringContaining(says)]);
  }
});

test("a user is shown with groups, and with what came before an event", async () => {
  const send = (name: string, minute: number) =>
    app.post({
      channel: "shop",
      name,
      userId: "cy",
      createdAt: new Date(Date.UTC(2026, 0, 31, 9, minute)).toISOString(),
    });
  await send("opened", 1);
  await send("failed", 2);
  await send("came back", 3);
  await done("group", "save", "company", "initech", "--user", "cy");
  const shown = await done("user", "show", "cy");
  expect(shown).toMatch(/company +initech/);
  expect(shown).toContain("came back");
  const [failed] = await app.list("?name=failed");
  const before = JSON.parse(await done("user", "show", "cy", "--before", failed!.id, "--json"));
  expect(before).toMatchObject({ userId: "cy", groups: [{ id: "initech" }], notes: [], cohorts: [] });
  expect(before.events.map(({ name }: { name: string }) => name)).toEqual(["opened"]);
});

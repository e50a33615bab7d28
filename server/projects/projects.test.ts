// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Project } from "../schemas/project.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { createProject } from "./projects.ts";

let app: TestApp;
let cookie: string;
beforeAll(async () => {
  app = await testApp();
  cookie = await app.signIn();
});
afterAll(() => app[Symbol.asyncDispose]());

async function call(
  method: string,
  path: string,
  body?: unknown,
  as = cookie,
): Promise<{ status: number; text: string; project: Project; projects: Project[] }> {
  const response = await app.request(path, {
    method,
    headers: { cookie: as, origin: app.address, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, ...JSON.parse(text) };
}

test("a project's slug comes from its name, and is unique", async () => {
  const cases: [name: string, slug: string][] = [
    ["My Shop", "my-shop"],
    ["my shop!", "my-shop-2"],
    ["Größe & Maß", "gro-e-ma"],
    ["Café", "cafe"],
    ["店", "project"],
    ["💰", "project-2"],
    ["-- --", "project-3"],
    ["x".repeat(80), "x".repeat(40)],
  ];
  for (const [name, slug] of cases) {
    const { status, project } = await call("POST", "/api/projects", { name });
    expect([status, project.name, project.slug, project.role]).toEqual([201, name, slug, "owner"]);
  }
  const { projects } = await call("GET", "/api/projects");
  expect(projects.map(({ slug }) => slug)).toEqual(["default", ...cases.map(([, slug]) => slug)]);
});

test("ten concurrent projects with the same name get ten slugs", async () => {
  const created = await Promise.all(
    Array.from({ length: 10 }, () => call("POST", "/api/projects", { name: "Twin" })),
  );
  expect(new Set(created.map(({ project }) => project.slug)).size).toBe(10);
});

test("a project has a time zone, also for those who have a board's public link", async () => {
  const { project } = await call("POST", "/api/projects", { name: "Abroad" });
  expect(project.timeZone).toBeNull();
  const path = `/api/projects/${project.slug}`;
  expect((await call("PATCH", path, { timeZone: "asia/calcutta" })).project.timeZone).toMatch(/^Asia\//);
  const unknown = await call("PATCH", path, { timeZone: "Mars/Olympus" });
  expect([unknown.status, unknown.text]).toEqual([422, expect.stringContaining("IANA time zone")]);
  expect((await call("PATCH", path, { timeZone: "Europe/Berlin" })).project.timeZone).toBe("Europe/Berlin");
  const publicZone = async () => {
    const [board] = JSON.parse((await call("GET", `/api/boards?project=${project.slug}`)).text).boards;
    const { text } = await call("POST", `/api/boards/${board.id}/link?project=${project.slug}`);
    const token = (JSON.parse(text).link as string).split("/").at(-1);
    return JSON.parse((await call("GET", `/api/public/boards/${token}`)).text).board.timeZone;
  };
  expect(await publicZone()).toBe("Europe/Berlin");
  expect((await call("PATCH", path, { timeZone: null })).project.timeZone).toBeNull();
  expect(await publicZone()).toBeNull();
});

test("renaming keeps the slug", async () => {
  const { project } = await call("POST", "/api/projects", { name: "Before" });
  const renamed = await call("PATCH", `/api/projects/${project.slug}`, { name: "After" });
  expect(renamed.project).toEqual({ ...project, name: "After", version: expect.any(String) });
  expect((await call("GET", "/api/projects")).projects).toContainEqual(renamed.project);
});

test("a member can't rename a project", async () => {
  const { slug } = await app.another("Theirs", "theirs@example.com");
  await app.addMember("member@example.com", "member", slug);
  const member = await app.signIn("member@example.com");
  const rejected = await call("PATCH", `/api/projects/${slug}`, { name: "Mine" }, member);
  expect(rejected.status).toBe(403);
  expect(rejected.text).toContain("role-insufficient");
});

test("invalid input is rejected", async () => {
  for (const body of [{}, { name: "" }, { name: "x".repeat(81) }, { name: "x", slug: "y" }, { name: 1 }]) {
    expect((await call("POST", "/api/projects", body)).status).toBe(422);
    expect((await call("PATCH", "/api/projects/default", body)).status).toBe(422);
  }
  expect((await call("PATCH", "/api/projects/none", { name: "x" })).status).toBe(404);
});

test("a session with several projects must name one; with one project it need not", async () => {
  const rejected = await call("GET", "/api/channels");
  expect(rejected.status).toBe(400);
  expect(rejected.text).toContain("You are a member of several projects");
  expect((await call("GET", "/api/channels?project=default")).status).toBe(200);
  await app.another("Alone", "alone@example.com");
  expect((await call("GET", "/api/channels", undefined, await app.signIn("alone@example.com"))).status).toBe(
    200,
  );
});

test("an account owns at most so many projects", async () => {
  await app.addMember("collector@example.com", "viewer");
  const collector = await app.signIn("collector@example.com");
  const { control } = app.running.store;
  const { id } = await control
    .selectFrom("accounts")
    .select("id")
    .where("email", "=", "collector@example.com")
    .executeTakeFirstOrThrow();
  for (let owned = 1; owned < limits.projectsPerAccount; owned++) await createProject(control, "Many", id);
  const made = await Promise.all(
    Array.from({ length: 4 }, () => call("POST", "/api/projects", { name: "Many" }, collector)),
  );
  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
  expect(made.find(({ status }) => status === 409)!.text).toContain("limit-reached");
});

test("a setting leaves projects to the owner of the installation", async () => {
  await using app = await testApp({ projectCreation: "owner" });
  await app.addMember("member@example.com", "admin");
  const create = async (email: string) => {
    const headers = {
      cookie: await app.signIn(email),
      origin: app.address,
      "content-type": "application/json",
    };
    const response = await app.request("/api/projects", { method: "POST", headers, body: '{"name":"New"}' });
    return `${response.status} ${await response.text()}`;
  };
  expect(await create("member@example.com")).toMatch(/^403 .*project-creation-restricted.*invite you/);
  expect(await create(app.owner)).toStartWith("201 ");
});

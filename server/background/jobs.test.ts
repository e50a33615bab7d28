// @engines sqlite, postgres
// @long
import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Job } from "../schemas/job.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilJobDone } from "../testing/until.ts";

const remove = (app: TestApp, path: string, key?: string) => app.request(path, { method: "DELETE" }, key);

async function jobOf(response: Response): Promise<Job> {
  expect(response.status).toBe(202);
  return ((await response.clone().json()) as { job: Job }).job;
}

const post = (app: TestApp, userId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => app.post({ channel: "c", name: "n", userId })));

/** Starts an erasure that other jobs wait for. */
async function eraseLong(app: TestApp, userId: string): Promise<Response> {
  await post(app, userId, 600);
  const response = await remove(app, `/api/users/${userId}`);
  const { id } = await jobOf(response);
  while (true) {
    const { state } = await jobOf(new Response((await app.request(`/api/jobs/${id}`)).body, { status: 202 }));
    if (state === "running") return response;
    expect(state).toBe("waiting");
  }
}

test("a waiting job is joined, and waiting erasures are finished together", async () => {
  await using app = await testApp();
  await post(app, "u1", 3);
  await post(app, "u2", 4);
  const long = await eraseLong(app, "long");
  const paths = ["/api/users/u1", "/api/users/u2", "/api/users/u1", "/api/users/nobody", "/api/users/u1"];
  const answers = await Promise.all(paths.map((path) => remove(app, path)));
  const [first, second, again, unknown, third] = await Promise.all(answers.map(jobOf));
  expect([again!.id, third!.id]).toEqual([first!.id, first!.id]);
  expect(new Set([first, second, unknown].map((job) => job!.id)).size).toBe(3);
  const channels = await Promise.all([remove(app, "/api/channels/c"), remove(app, "/api/channels/c")]);
  expect((await jobOf(channels[0]!)).id).toBe((await jobOf(channels[1]!)).id);

  const done = await Promise.all(answers.map((answer) => untilJobDone(app, answer)));
  expect(done.map(({ done }) => done)).toEqual([3, 4, 3, 0, 3]);
  expect(new Set(done.map(({ receipt }) => receipt!.endedAt)).size).toBe(1);
  expect((await untilJobDone(app, long)).receipt!.endedAt < done[0]!.receipt!.endedAt).toBe(true);
});

test("a running erasure is not joined: later events are erased too", async () => {
  await using app = await testApp();
  const long = await eraseLong(app, "u1");
  await post(app, "u1", 2);
  const later = await remove(app, "/api/users/u1");
  expect((await jobOf(later)).id).not.toBe((await jobOf(long)).id);
  await untilJobDone(app, later);
  expect(await app.list("?userId=u1")).toEqual([]);
});

test("an erasure doesn't wait for the deletion of a channel", async () => {
  await using app = await testApp();
  await Promise.all(Array.from({ length: 1_500 }, (_, n) => app.post({ channel: "c", name: `n${n}` })));
  await app.post({ channel: "other", name: "n", userId: "u1" });
  const channel = await remove(app, "/api/channels/c");
  const { id } = await jobOf(channel);
  const progress = async () => (await (await app.request(`/api/jobs/${id}`)).json()) as { job: Job };
  await until(async () => (await progress()).job.done > 0);
  const erased = await untilJobDone(app, await remove(app, "/api/users/u1"));
  expect((await progress()).job).toMatchObject({ state: "running", receipt: null });
  const deleted = await untilJobDone(app, channel);
  expect(deleted).toMatchObject({ done: 1_500, receipt: { erasedEvents: 1_500 } });
  expect(erased.receipt!.endedAt < deleted.receipt!.endedAt).toBe(true);
});

test("a job that has removed its events says that it is cleaning, and leaves later events alone", async () => {
  await using app = await testApp();
  await post(app, "u1", 60);
  const { id } = await jobOf(await remove(app, "/api/users/u1"));
  const seen = new Set<string>();
  while (!seen.has("done")) {
    const { job } = (await (await app.request(`/api/jobs/${id}`)).json()) as { job: Job };
    seen.add(job.state);
    if (job.state === "cleaning" || job.state === "done") expect(job).toMatchObject({ done: 60, total: 60 });
  }
  expect(seen).toContain("cleaning");

  const store = await openTestStore(app.config);
  const { id: projectId } = await store.control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  await app.post({ channel: "c", name: "anew" });
  // The state after a crash.
  const left = {
    id: Bun.randomUUIDv7(),
    projectId,
    kind: "delete-channel" as const,
    state: "cleaning" as const,
  };
  const detail = JSON.stringify({ subject: "c", counts: {} });
  await store.control
    .insertInto("jobs")
    .values({ ...left, detail, done: 60, total: 60, createdAt: 1 })
    .execute();
  await store.close();
  await app.restart();
  const again = await app.request(`/api/jobs/${left.id}`);
  await untilJobDone(app, new Response(again.body, { status: 202 }));
  expect(await app.list()).toMatchObject([{ name: "anew" }]);
});

test("unfinished jobs are limited for each project", async () => {
  await using app = await testApp();
  const other = await app.another("Other", "other@example.com");
  const store = await openTestStore(app.config);
  const { id: projectId } = await store.control
    .selectFrom("projects")
    .select("id")
    .where("slug", "=", "default")
    .executeTakeFirstOrThrow();
  const waiting = Array.from({ length: limits.openJobs }, (_, n) => ({
    id: Bun.randomUUIDv7(),
    projectId,
    kind: "erase-user" as const,
    state: "waiting" as const,
    detail: JSON.stringify({ subject: `user ${n}`, counts: {} }),
    createdAt: 1,
  }));
  await store.control.insertInto("jobs").values(waiting).execute();
  await store.close();
  const rejected = await remove(app, "/api/users/one-more");
  expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([409, "60"]);
  expect(await rejected.text()).toContain("/problems/limit-reached");
  expect((await remove(app, "/api/users/u1", other.secret)).status).toBe(202);
  expect((await remove(app, "/api/users/user%20999")).status).toBe(202);
});

test("the newest 10,000 finished jobs of a project are kept", async () => {
  await using app = await testApp();
  const store = await openTestStore(app.config);
  const done = Array.from({ length: limits.doneJobs + 3 }, (_, n) => ({
    // In order of creation.
    id: `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`,
    projectId: 1,
    kind: "erase-user" as const,
    state: "done" as const,
    detail: '{"counts":{}}',
    createdAt: n,
    endedAt: Date.now(),
  }));
  for (let at = 0; at < done.length; at += 1_000) {
    await store.control
      .insertInto("jobs")
      .values(done.slice(at, at + 1_000))
      .execute();
  }
  await untilJobDone(app, await remove(app, "/api/users/u1"));
  const left = await store.control.selectFrom("jobs").select("id").orderBy("id").execute();
  expect(left).toHaveLength(limits.doneJobs + 1);
  expect(left[0]!.id).toBe(done[3]!.id);
  await store.close();
});

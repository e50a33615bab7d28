import type { Event } from "../event/event.ts";
import type { Job } from "../schemas/job.ts";
import { patienceMs } from "./engine.ts";
import type { TestApp } from "./test-app.ts";

/** Waits until a condition holds; throws if that takes longer than `withinMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  withinMs = patienceMs,
): Promise<void> {
  for (const endMs = performance.now() + withinMs; !(await condition()); await Bun.sleep(10)) {
    if (performance.now() > endMs) throw new Error(`Still false after ${withinMs} ms: ${condition}`);
  }
}

/** Less than the minute after which the background worker looks for work by itself. */
const waitMsMax = 20_000;

/** Waits until the deliveries of all stored events are made. */
export async function untilFannedOut({ running }: TestApp): Promise<void> {
  const { control } = running.store;
  await until(async () => !(await control.selectFrom("outbox").select("id").limit(1).executeTakeFirst()));
}

/** Waits until only `count` events are listed, and returns them. */
export async function untilListed(app: TestApp, count: number, query = ""): Promise<Event[]> {
  for (const endMs = performance.now() + waitMsMax; ; ) {
    const events = await app.list(query);
    if (events.length === count) return events;
    if (events.length < count) throw new Error(`Only ${events.length} events are left.`);
    if (performance.now() > endMs) throw new Error(`There are still ${events.length} events.`);
    await Bun.sleep(20);
  }
}

/** Waits until the job that a request started is done, and returns it. */
export async function untilJobDone(
  app: Pick<TestApp, "request">,
  response: Response,
  init: RequestInit = {},
): Promise<Job> {
  if (response.status !== 202) throw new Error(`Got ${response.status}: ${await response.text()}`);
  let { job } = (await response.json()) as { job: Job };
  while (job.state !== "done") {
    await Bun.sleep(20);
    ({ job } = (await (await app.request(`/api/jobs/${job.id}`, init)).json()) as { job: Job });
  }
  return job;
}

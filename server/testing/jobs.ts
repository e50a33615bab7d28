import type { Job } from "../wire/job.ts";
import type { TestApp } from "./test-app.ts";

/** Waits until the job that a request started is done, and returns it. */
export async function finished(
  app: Pick<TestApp, "request">,
  response: Response,
  init: RequestInit = {},
): Promise<Job> {
  if (response.status !== 202) throw new Error(`Answered ${response.status}: ${await response.text()}`);
  let { job } = (await response.json()) as { job: Job };
  while (job.state !== "done") {
    await Bun.sleep(20);
    ({ job } = (await (await app.request(`/api/jobs/${job.id}`, init)).json()) as { job: Job });
  }
  return job;
}

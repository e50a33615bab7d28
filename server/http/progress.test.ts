import { expect, test } from "bun:test";
import { problem } from "../core/problems.ts";
import { type Progress, progressType, withProgress } from "./progress.ts";

const request = new Request("http://localhost/", { headers: { accept: progressType } });
const ignore = () => {};

async function streamOf(compute: (progress: Progress) => Promise<object>): Promise<string> {
  const response = (await withProgress(request, compute, ignore)) as Response;
  return response.text();
}

test("progress is followed by the result", async () => {
  const text = await streamOf(async ({ onProgress }) => {
    onProgress(0.123_456);
    return { ok: true };
  });
  expect(text).toBe(
    'event: progress\ndata: {"done":0}\n\nevent: progress\ndata: {"done":0.123}\n\nevent: result\ndata: {"ok":true}\n\n',
  );
});

test("a failure is sent as a problem, and reported", async () => {
  const failed = problem("query-too-expensive", { detail: "Too much." });
  const errors: unknown[] = [];
  const response = (await withProgress(
    request,
    () => Promise.reject(failed),
    (error) => errors.push(error),
  )) as Response;
  const text = await response.text();
  expect(text).toContain(`event: problem\ndata: ${JSON.stringify(failed.toProblem())}`);
  expect(errors).toEqual([failed]);
  expect(await streamOf(() => Promise.reject(new Error("secret")))).not.toContain("secret");
});

test("a client that goes away ends the computation", async () => {
  const ended = Promise.withResolvers<void>();
  const response = (await withProgress(
    request,
    async ({ signal }) => {
      signal.addEventListener("abort", () => ended.resolve());
      await ended.promise;
      throw signal.reason;
    },
    () => {
      throw new Error("Nobody is told.");
    },
  )) as Response;
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await ended.promise;
});

test("without that media type, the result is the response's body", async () => {
  expect(await withProgress(new Request("http://localhost/"), async () => ({ ok: true }), ignore)).toEqual({
    ok: true,
  });
});

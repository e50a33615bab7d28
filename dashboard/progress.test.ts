import { expect, test } from "bun:test";
import { ApiError } from "./api.ts";
import { readProgress } from "./progress.ts";

/** A response that arrives in the given parts. */
function responseOf(...parts: string[]): Response {
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(encoder.encode(part));
        controller.close();
      },
    }),
  );
}

test("progress comes before the result, wherever the parts are cut", async () => {
  const text =
    'event: progress\ndata: {"done":0}\n\nevent: progress\ndata: {"done":0.5}\n\nevent: result\ndata: {"ok":true}\n\n';
  for (let at = 0; at < text.length; at++) {
    const shares: number[] = [];
    const result = await readProgress<unknown>(responseOf(text.slice(0, at), text.slice(at)), (share) =>
      shares.push(share),
    );
    expect(result).toEqual({ ok: true });
    expect(shares).toEqual([0, 0.5]);
  }
});

test("a problem is thrown as from other responses, and so is a lost connection", async () => {
  const problem = { type: "/problems/query-too-expensive", status: 422, detail: "Use a shorter range." };
  const failed = responseOf(`event: problem\ndata: ${JSON.stringify(problem)}\n\n`);
  const rejection = await readProgress(failed, () => {}).catch((error) => error);
  expect(rejection).toBeInstanceOf(ApiError);
  expect(rejection).toMatchObject({
    status: 422,
    code: "query-too-expensive",
    detail: "Use a shorter range.",
  });
  const lost = responseOf('event: progress\ndata: {"done":0.5}\n\n');
  expect(await readProgress(lost, () => {}).catch((error) => error)).toMatchObject({ status: 0 });
});

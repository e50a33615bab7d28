import { createParser } from "eventsource-parser";
import type { Problem } from "../server/core/problems.ts";
import { ApiError } from "./api.ts";

/**
 * Reads a response that reports its progress (`server/http/progress.ts`). Throws `ApiError` if the server could not
 * compute the result, or if the connection ends before it.
 */
export async function readProgress<Result>(
  response: Response,
  onProgress: (share: number) => void,
): Promise<Result> {
  let result: Result | undefined;
  const parser = createParser({
    onEvent({ event, data }) {
      const value = JSON.parse(data);
      if (event === "progress") onProgress(value.done);
      else if (event === "result") result = value;
      else if (event === "problem") throw new ApiError((value as Problem).status, value);
    },
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) parser.feed(read.value);
  if (result === undefined) throw new ApiError(0, { detail: "The connection was lost. Try again." });
  return result;
}

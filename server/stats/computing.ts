import { isoOf } from "../core/iso.ts";
import type { FailureLog } from "../http/failures.ts";
import { type Progress, withProgress } from "../http/progress.ts";
import type { MsRange } from "../storage/block.ts";

/** Returns what computes something that can take longer than other requests. */
export function computing(failures: FailureLog) {
  return <Result extends object>(
    request: Request,
    run: (progress: Progress) => Promise<Result>,
  ): Promise<Result | Response> => withProgress(request, run, (error) => failures.requestFailed(error));
}

export function timesOf({ fromMs, toMs }: MsRange) {
  return { from: isoOf(fromMs), to: isoOf(toMs) };
}

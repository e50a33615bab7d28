import { Buckets } from "../histogram.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import type { Cohort, RetentionQuery, Watch } from "./queries.ts";
import type { Scan } from "./scan.ts";

const isStart = 1;
const isReturn = 2;

/** Counts how many users come back. */
export async function retention(scan: Scan, query: RetentionQuery, watch: Watch): Promise<Cohort[]> {
  const { projectId, bounds, start } = query;
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  const fields = { users: true };
  const filters = [start, query.return];
  const periods = new Buckets(bounds);
  const cohorts: Cohort[] = Array.from({ length: periods.length }, (_, index) => ({
    users: 0,
    returned: new Array<number>(periods.length - index).fill(0),
  }));
  /** By user: the period of the first start, and the last one with a return, plus 1. */
  let started = new Uint8Array(1_024);
  let returned = new Uint8Array(1_024);
  /** By user: the last return before any start. It counts if a start has the same millisecond. */
  let lastReturnMs = new Float64Array(1_024);

  await scan({ projectId, filters, range, fields }, new Batches(fields, filters), take, watch);
  return cohorts;

  function take({ size, ms, masks, users }: Batch): void {
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      while (user >= started.length) {
        started = grown(started);
        returned = grown(returned);
        lastReturnMs = grown(lastReturnMs);
      }
      const period = periods.of(ms[at]!);
      if (masks[at]! & isStart && started[user] === 0) {
        started[user] = period + 1;
        cohorts[period]!.users++;
        if (lastReturnMs[user] === ms[at]) addReturn(user, period);
      }
      if (!(masks[at]! & isReturn)) continue;
      if (started[user] === 0) lastReturnMs[user] = ms[at]!;
      else addReturn(user, period);
    }
  }

  function addReturn(user: number, period: number): void {
    if (returned[user] === period + 1) return;
    returned[user] = period + 1;
    const cohort = started[user]! - 1;
    cohorts[cohort]!.returned[period - cohort]!++;
  }
}

import { type BlockCoverage, unindexedOf } from "../storage/unindexed.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Events in no block: the newest ones always, and those of the last minute or two after an import. */
const usualMax = 200_000;

/** Says how many events long searches have to read one by one. */
export function unindexedFinding(coverage: BlockCoverage): Finding {
  const check = "events in no block";
  const events = unindexedOf(coverage);
  const found = `${events.toLocaleString("en")} of ${Number(coverage.stored).toLocaleString("en")} events.`;
  if (events <= usualMax) return ok(check, found);
  return warning(
    check,
    `${found} Long searches and metrics read them one by one.`,
    "The server builds blocks in the background, some thousand events a second. If the number doesn't fall, see its log.",
  );
}

import type { AnalysisSplit } from "../storage/analysis/queries.ts";
import { groupNames } from "../storage/group-rows.ts";
import type { Store } from "../storage/store.ts";

/** Series of a split by groups with the names of these; others as they are. */
export async function withGroupNames<Series extends { value: string | null }>(
  control: Store["control"],
  projectId: number,
  split: AnalysisSplit | undefined,
  series: readonly Series[],
): Promise<(Series & { name?: string })[]> {
  if (split?.by !== "group" || split.key !== undefined) return [...series];
  const names = await groupNames(
    control,
    projectId,
    split.type,
    series.flatMap(({ value }) => value ?? []),
  );
  return series.map((each) => {
    const name = each.value === null ? undefined : names.get(each.value);
    return name === undefined ? each : { ...each, name };
  });
}

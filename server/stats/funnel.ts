import type { FunnelResult, FunnelStepResult } from "../storage/analysis/queries.ts";

/** The steps of a funnel with their conversions, as the API returns them. */
export function funnelOf({ steps, series, rest }: FunnelResult, isSplit: boolean) {
  return {
    steps: withConversions(steps),
    ...(isSplit && {
      series: [
        ...series.map(({ value, steps }) => ({ value, steps: withConversions(steps) })),
        ...(rest ? [{ value: null, steps: withConversions(rest) }] : []),
      ],
    }),
  };
}

function withConversions(steps: FunnelStepResult[]) {
  return steps.map(({ users, medianMs, p90Ms, times }, step) => ({
    users,
    conversion: shareOf(users, steps[0]!.users),
    stepConversion: step === 0 ? null : shareOf(users, steps[step - 1]!.users),
    medianSeconds: secondsOf(medianMs),
    p90Seconds: secondsOf(p90Ms),
    times: times.map(({ fromMs, toMs, users }) => ({
      fromSeconds: fromMs / 1_000,
      toSeconds: secondsOf(toMs),
      users,
    })),
  }));
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}

function shareOf(part: number, all: number): number | null {
  return all === 0 ? null : part / all;
}

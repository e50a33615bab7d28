import { faults } from "./faults.ts";
import { combine, type Outcome } from "./outcome.ts";

/** Formats outcomes as a Markdown table, a line for each fault. */
export function formatTable(outcomes: readonly Outcome[]): string {
  const lines = combine(outcomes).map((outcome) => {
    const what = faults.find(({ name }) => name === outcome.fault)!.what;
    const { times, lost, doubled, missing } = outcome;
    const paused = `${seconds(outcome.writePauseMs)} | ${seconds(outcome.readPauseMs)}`;
    const slowest = `${seconds(outcome.slowestWriteMs)} | ${seconds(outcome.slowestReadMs)}`;
    return `| \`${outcome.fault}\`: ${what} | ${times} | ${paused} | ${slowest} | ${lost} | ${doubled} | ${missing} |`;
  });
  return [
    "| fault | times | no write for | no read for | slowest write | slowest read | lost | doubled | missing in streams |",
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ...lines,
  ].join("\n");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

import { ArrowRight } from "lucide-react";
import { Fragment } from "react";
import { countedWords } from "../../server/schemas/group-texts.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { secondsText } from "../components/durations.ts";
import { formatShare } from "../components/locale.ts";
import { tookText } from "../who/question.ts";
import { amountText, stepText } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { DrillDownLink, stepDrillDown } from "./drill-down.tsx";

/** How long users took from each step of a funnel to the next: median, the time of nine in ten, and a histogram. */
export function TimesBody({ tile, data }: { tile: ShownTile; data: TileDataOf<"funnel"> }) {
  const { project } = useTileSource();
  const { steps } = data;
  const several = countedWords(perOf(tile))[1];
  if (!steps[1] || steps[1].users === 0)
    return <p className="tile-empty">No {several} took two steps in this period.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="tile-scroll" tabIndex={0} aria-label={`Times of ${titleOf(tile)}`}>
      {steps.map(({ users, medianSeconds, p90Seconds, times }, index) => {
        if (medianSeconds === null || p90Seconds === null) return null;
        const most = Math.max(...times.map((bucket) => bucket.users));
        const name = stepText(tile, index);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: two steps can have the same name
          <Fragment key={index}>
            <h3 className="tile-times-head">
              <span className="tile-times-steps">
                <span className="hostile-line">{stepText(tile, index - 1)}</span>
                <ArrowRight aria-label="to" className="size-3.5 shrink-0 text-faint" />
                <span className="hostile-line">{name}</span>
              </span>
              <span className="font-normal text-muted">
                median {secondsText(medianSeconds)} · 90% within {secondsText(p90Seconds)}
              </span>
            </h3>
            <ol className="tile-times">
              {times.map(({ fromSeconds, toSeconds, users: some }) => {
                const took = { from: fromSeconds, to: toSeconds };
                return (
                  <li key={fromSeconds}>
                    <span className="text-muted">{tookText(took)}</span>
                    <span className="tile-step-bar" aria-hidden>
                      <span style={{ width: `${(some / most) * 100}%` }} />
                    </span>
                    <DrillDownLink
                      project={project}
                      drillDown={some > 0 ? stepDrillDown(tile, data, index + 1, { took }) : null}
                      className="tile-drill-down text-right"
                      more={` ${several} (${formatShare(some / users)}) took “${name}” then: show them`}
                    >
                      {amountText(some)}
                    </DrillDownLink>
                  </li>
                );
              })}
            </ol>
          </Fragment>
        );
      })}
    </section>
  );
}

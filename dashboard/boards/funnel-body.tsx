import type { TileDataOf } from "../../server/wire/tile-data.ts";
import { amountText, labelOf, shareText, stepText, titleOf } from "./amounts.ts";
import type { ShownTile } from "./boards.ts";
import { Change } from "./number-body.tsx";

/** A funnel's steps, each with a bar for the users who got there; of a split, the shares of each value. */
export function FunnelBody({ tile, data }: { tile: ShownTile; data: TileDataOf<"funnel"> }) {
  const { steps, series, before } = data;
  const title = titleOf(tile);
  if (!steps[0] || steps[0].users === 0)
    return <p className="tile-empty">No users took the first step in this period.</p>;
  const labels = steps.map((_, index) => stepText("steps" in tile ? tile.steps[index] : undefined, index));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="tile-scroll" tabIndex={0} aria-label={`Steps of ${title}`}>
      <ol>
        {steps.map(({ users, conversion, medianSeconds }, index) => (
          <li key={labels[index]} className="tile-step">
            <p>
              <span className="hostile-line">{labels[index]}</span>
              <b>{amountText(users)}</b>
              <span>{shareText(conversion ?? 0)}</span>
            </p>
            <div className="tile-step-bar">
              <span style={{ width: `${(conversion ?? 0) * 100}%` }} />
            </div>
            <div className="tile-step-note">
              {medianSeconds !== null && <span>typically after {secondsText(medianSeconds)}</span>}
              {before?.[index] && <Change value={users} before={before[index].users} compact />}
            </div>
          </li>
        ))}
      </ol>
      {series && series.length > 0 && (
        <table className="tile-table">
          <thead>
            <tr>
              <th scope="col">First step by</th>
              <th scope="col">Users</th>
              <th scope="col">All steps</th>
            </tr>
          </thead>
          <tbody>
            {series.map(({ value, steps }) => (
              <tr key={value ?? "\0"}>
                <th scope="row">
                  <span className="hostile-line">{labelOf(value, true)}</span>
                </th>
                <td>{amountText(steps[0]?.users ?? 0)}</td>
                <td>{shareText(steps.at(-1)?.conversion ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** "40 s", "12 min", "3.5 h", "2 days". */
function secondsText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3_600) return `${amountText(Math.round(seconds / 360) / 10)} h`;
  return `${amountText(Math.round(seconds / 8_640) / 10)} days`;
}

import type { TileDataOf } from "../../server/wire/tile-data.ts";
import { formatDate } from "../components/dates.ts";
import { amountText, shareText } from "./amounts.ts";

/** Seven days may be an hour short. */
const weekMs = (7 * 24 - 1) * 3_600_000;

/** For each week, how many of its new users came back in the weeks after. Darker cells are larger shares. */
export function RetentionBody({ data, title }: { data: TileDataOf<"retention">; title: string }) {
  const { cohorts, starts, users } = data;
  if (users === 0) return <p className="tile-empty">No users in this period.</p>;
  const last = starts.length - 1;
  const isLastOver = Date.parse(data.to) - Date.parse(starts[last]!) >= weekMs;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="tile-scroll tile-rows" tabIndex={0} aria-label={`Table of ${title}`}>
      <table className="tile-retention">
        <thead>
          <tr>
            <th className="font-normal text-muted" scope="col">
              Week of
            </th>
            <th className="font-normal text-muted" scope="col">
              Users
            </th>
            {starts.slice(1).map((start, index) => (
              <th
                key={start}
                className="font-normal text-muted"
                scope="col"
                title={index === 0 ? "1 week later" : `${index + 1} weeks later`}
              >
                Week {index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(({ users, returned }, index) => (
            <tr key={starts[index]}>
              <th className="font-normal text-muted" scope="row">
                {formatDate(starts[index]!, "day")}
              </th>
              <td>{amountText(users)}</td>
              {returned.slice(1).map((count, week) => {
                const share = users === 0 ? 0 : count / users;
                const isOver = isLastOver || index + week + 1 < last;
                return (
                  <td
                    key={starts[index + week + 1]}
                    title={`${amountText(count)} of ${amountText(users)}${isOver ? "" : " so far: this week isn't over"}`}
                    // Low only because days are missing, which must not look like users who left.
                    className={isOver ? "" : "text-faint italic"}
                    style={{
                      background: `color-mix(in srgb, var(--accent) ${Math.round(share * 45)}%, transparent)`,
                    }}
                  >
                    {users > 0 && shareText(share)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { amountText } from "./amounts.ts";
import { Change, charactersOf } from "./number-body.tsx";
import { Sparkline } from "./sparkline.tsx";

/** A value that an application sets, and its small line. */
export function ValueBody({ data: { insight, points } }: { data: TileDataOf<"value"> }) {
  if (!insight) return <p className="tile-empty">Not set yet.</p>;
  // An icon is as wide as three digits, with its space.
  const text = (insight.icon ? "000" : "") + amountText(insight.value);
  return (
    <div className="tile-number">
      <p className="tile-value" style={charactersOf(text)} title={insight.title}>
        {insight.icon && <span aria-hidden>{insight.icon} </span>}
        {amountText(insight.value)}
      </p>
      {points.length > 1 ? (
        <Change value={insight.value} before={points[0]!.value} />
      ) : (
        <p className="tile-change text-faint">
          Set <RelativeTime at={insight.updatedAt} form="long" />
        </p>
      )}
      <Sparkline values={points.map(({ value }) => value)} />
    </div>
  );
}

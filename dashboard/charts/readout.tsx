import { useLayoutEffect, useRef, useState } from "react";
import { EventIcon } from "../components/event-icon.tsx";
import { type ChartMark, marksByName } from "./chart-marks.ts";
import { colorOf, markShapeOf, type SeriesColor } from "./colors.ts";

type ReadoutProps = {
  title: string;
  rows: { key: string; name: string; color: SeriesColor; value: number | null }[];
  /** The total of all rows, or "sum" to add them up. Null shows no total. */
  total: number | "sum" | null;
  format: (value: number) => string;
  isDark: boolean;
  /** The position of the cursor and the width of the chart, in pixels. */
  at: number;
  width: number;
  /** The names of the marks there. */
  marks: readonly ChartMark[];
  /** Says what a click does. */
  hint?: string | undefined;
};

const rowsMax = 12;
const marksMax = 5;
/** From the window's edge, at least. */
const marginPx = 8;

/** The values under the cursor, next to it: on the side with more room, and within the window. Screen readers get them from the chart itself. */
export function Readout({ title, rows, total, format, isDark, at, width, marks, hint }: ReadoutProps) {
  const box = useRef<HTMLDivElement>(null);
  const [upPx, setUpPx] = useState(0);
  const known = rows.filter(({ value }) => value !== null && (value !== 0 || rows.length === 1));
  const some = known.length > rowsMax ? known.slice(0, rowsMax - 1) : known;
  const others = known.slice(some.length);
  const sumOf = (values: typeof rows) => values.reduce((left, { value }) => left + (value ?? 0), 0);
  const shownTotal = total === "sum" || (total === null && known.length === 0) ? sumOf(rows) : total;
  const named = marksByName(marks);
  const side = at > width / 2 ? { right: width - at + 10 } : { left: at + 10 };
  // A long list is higher than its chart.
  useLayoutEffect(() => {
    const { bottom } = box.current!.getBoundingClientRect();
    const over = Math.max(0, bottom + upPx - (innerHeight - marginPx));
    if (over !== upPx) setUpPx(over);
  });
  return (
    <div
      ref={box}
      aria-hidden
      style={{ ...side, transform: `translateY(${-upPx}px)` }}
      className="pointer-events-none absolute top-1 z-30 w-max max-w-64 rounded-md border border-line-strong bg-raised px-2.5 py-1.5 text-xs shadow-md"
    >
      <p className="font-medium">{title}</p>
      {some.map(({ key, name, color, value }) => (
        <p key={key} className="mt-0.5 flex items-center gap-1.5">
          <Swatch color={color} isDark={isDark} />
          <span className="hostile-line flex-1 text-muted">{name}</span>
          <span className="pl-3 font-medium">{format(value ?? 0)}</span>
        </p>
      ))}
      {others.length > 0 && (
        <p className="mt-0.5 flex justify-between gap-3 pl-3.5 text-muted">
          {others.length} more <span className="font-medium text-ink">{format(sumOf(others))}</span>
        </p>
      )}
      {shownTotal !== null && (
        <p className="mt-1 flex justify-between gap-3 border-line border-t pt-1 text-muted">
          Total <span className="font-medium text-ink">{format(shownTotal)}</span>
        </p>
      )}
      {named.length > 0 && (
        <ul className="mt-1 flex flex-col gap-0.5 border-line border-t pt-1">
          {named.slice(0, marksMax).map(({ key, name, icon, color, count }) => (
            <li key={key} className="flex items-center gap-1.5">
              {icon === null ? (
                <Swatch color={color} isDark={isDark} />
              ) : (
                <EventIcon icon={icon} name={name} size="sm" bare />
              )}
              <span className="hostile-line flex-1">{name}</span>
              {count > 1 && <span className="pl-3 text-muted">× {count}</span>}
            </li>
          ))}
          {named.length > marksMax && <li className="text-muted">{named.length - marksMax} more</li>}
        </ul>
      )}
      {hint && <p className="mt-1 text-2xs text-faint pointer-coarse:hidden">{hint}</p>}
    </div>
  );
}

export function Swatch({
  color,
  isDark,
  isOff = false,
}: {
  color: SeriesColor;
  isDark: boolean;
  isOff?: boolean;
}) {
  return (
    <svg aria-hidden viewBox="0 0 8 8" className="size-2 shrink-0 overflow-visible">
      <path
        d={markShapeOf(color)}
        fillRule="evenodd"
        fill={isOff ? "transparent" : colorOf(color, isDark)}
        stroke={isOff ? "currentColor" : "none"}
      />
    </svg>
  );
}

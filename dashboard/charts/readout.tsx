import { colorOf, markShapeOf, type SeriesColor } from "./colors.ts";

type ReadoutProps = {
  title: string;
  rows: { key: string; name: string; color: SeriesColor; value: number | null }[];
  total: boolean;
  format: (value: number) => string;
  isDark: boolean;
  /** Where the cursor is, and how wide the chart is, in pixels. */
  at: number;
  width: number;
};

const rowsMax = 9;

/** The values under the cursor, next to it: on the side with more room. Screen readers get them from the chart itself. */
export function Readout({ title, rows, total, format, isDark, at, width }: ReadoutProps) {
  const some = rows
    .filter(({ value }) => value !== null && (value !== 0 || rows.length === 1))
    .slice(0, rowsMax);
  const sum = rows.reduce((left, { value }) => left + (value ?? 0), 0);
  const side = at > width / 2 ? { right: width - at + 10 } : { left: at + 10 };
  return (
    <div
      aria-hidden
      style={side}
      className="pointer-events-none absolute top-1 z-30 w-max max-w-56 rounded-md border border-line-strong bg-raised px-2.5 py-1.5 text-xs shadow-md"
    >
      <p className="font-medium">{title}</p>
      {some.map(({ key, name, color, value }) => (
        <p key={key} className="mt-0.5 flex items-center gap-1.5">
          <Swatch color={color} isDark={isDark} />
          <span className="hostile-line flex-1 text-muted">{name}</span>
          <span className="pl-3 font-medium">{format(value ?? 0)}</span>
        </p>
      ))}
      {(total || some.length === 0) && (
        <p className="mt-0.5 flex justify-between gap-3 text-muted">
          Total <span className="font-medium text-ink">{format(sum)}</span>
        </p>
      )}
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

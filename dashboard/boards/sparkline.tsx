type SparklineProps = {
  values: readonly (number | null)[];
  /** The last value is of a time that isn't over. */
  isLastPartial?: boolean;
};

/** A small line without axes. The number next to it says what matters, so it is hidden from screen readers. */
export function Sparkline({ values, isLastPartial = false }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const low = Math.min(0, ...known);
  const high = Math.max(...known);
  const span = high - low || 1;
  const points = values.flatMap((value, index) =>
    value === null
      ? []
      : [
          `${((index / (values.length - 1)) * 100).toFixed(2)},${(30 - ((value - low) / span) * 28).toFixed(2)}`,
        ],
  );
  const isDashed = isLastPartial && values.at(-1) !== null && points.length > 1;
  const whole = isDashed ? points.slice(0, -1) : points;
  return (
    <svg aria-hidden viewBox="0 0 100 32" preserveAspectRatio="none" className="tile-spark">
      <polygon points={`0,32 ${points.join(" ")} 100,32`} fill="currentColor" opacity="0.12" />
      <polyline
        points={whole.join(" ")}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
      {isDashed && (
        <polyline
          points={points.slice(-2).join(" ")}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeDasharray="2 3"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  );
}

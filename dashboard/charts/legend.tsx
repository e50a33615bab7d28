import { useDark } from "../theme/theme.ts";
import type { SeriesColor } from "./colors.ts";
import { Swatch } from "./readout.tsx";

type LegendProps = {
  items: readonly { key: string; name: string; color: SeriesColor; total?: string }[];
  /** The keys of series that are hidden. */
  hidden: ReadonlySet<string>;
  toggle: (key: string) => void;
};

/** The names of a chart's series. Each is a button that hides or shows its series. */
export function Legend({ items, hidden, toggle }: LegendProps) {
  const isDark = useDark();
  return (
    <ul aria-label="Legend" className="flex min-w-0 flex-wrap gap-x-1">
      {items.map(({ key, name, color, total }) => (
        <li key={key} className="min-w-0">
          <button
            type="button"
            aria-pressed={!hidden.has(key)}
            onClick={() => toggle(key)}
            className="flex h-6 max-w-48 items-center gap-1.5 rounded px-1.5 text-muted text-xs hover:bg-hover hover:text-ink focus-visible:outline-offset-[-2px] aria-[pressed=false]:text-faint aria-[pressed=false]:line-through max-md:h-9"
          >
            <Swatch color={color} isDark={isDark} isOff={hidden.has(key)} />
            <span className="hostile-line">{name}</span>
            {total !== undefined && <span className="text-faint">{total}</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}

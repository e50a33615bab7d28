import { clsx } from "clsx";
import { ArrowUpRight } from "lucide-react";
import { chipsFor } from "./chip-widths.ts";
import type { PickFilter } from "./filters.ts";

type TagChipsProps = {
  /** In the order that they are shown in. */
  tags: readonly (readonly [key: string, value: string])[];
  /** The width available for the chips. */
  widthPx: number;
  /** Larger chips for touch, on a line of their own. */
  isLarge?: boolean;
  pick: PickFilter;
};

/** An event's tags on one line, as many as fit. A click filters by the tag; a URL opens. */
export function TagChips({ tags, widthPx, isLarge = false, pick }: TagChipsProps) {
  const { count, chipPx } = chipsFor(tags, widthPx);
  const chip = {
    tabIndex: -1,
    className: clsx(chipClass, isLarge ? largeChipClass : smallChipClass),
    style: { maxWidth: chipPx },
  };
  return (
    <div className={clsx("flex min-w-0 flex-1 items-center gap-1 overflow-hidden", isLarge && "-mb-2 py-2")}>
      {tags.slice(0, count).map(([key, value]) => {
        const text = (
          <>
            <span className="hostile-line max-w-24 shrink-0">{key}</span>
            <span className="hostile-line text-ink">{value}</span>
          </>
        );
        return isWebAddress(value) ? (
          <a key={key} href={value} {...externalLink} {...chip} title={`Open ${value}`}>
            {text}
            <ArrowUpRight aria-hidden className="size-3 shrink-0" />
          </a>
        ) : (
          <button
            key={key}
            type="button"
            {...chip}
            onClick={(click) => pick(click, `tag.${key}`, value)}
            title={`Only events with ${key} = ${value}. Alt-click excludes them.`}
          >
            {text}
          </button>
        );
      })}
      {tags.length > count && (
        <span className="shrink-0 pl-0.5 text-faint text-xs">+{tags.length - count}</span>
      )}
    </div>
  );
}

const chipClass =
  "relative z-10 flex min-w-0 items-center gap-1 rounded border border-line bg-canvas " +
  "text-muted text-xs hover:border-line-strong hover:bg-pressed";
const smallChipClass = "h-5 px-1.5 pointer-coarse:h-7";
/** The touch target extends 8 pixels above and below the border. */
const largeChipClass = "h-7 px-2 after:absolute after:inset-x-0 after:-inset-y-[9px] after:content-['']";

/** Whether the whole text is an HTTP(S) URL that can be opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
}

/** For links in events: the linked page gets no referrer and no handle on this window. */
export const externalLink = { target: "_blank", rel: "noopener noreferrer nofollow" } as const;

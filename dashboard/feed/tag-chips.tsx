import { clsx } from "clsx";
import { ArrowUpRight } from "lucide-react";
import type { PickFilter } from "./filters.ts";

type TagChipsProps = {
  tags: Record<string, string>;
  /** The width available for the chips. */
  widthPx: number;
  /** Larger chips for touch, on a line of their own. */
  isLarge?: boolean;
  pick: PickFilter;
};

const chipsMax = 6;
const chipPxMax = 190;
const moreChipPx = 28;
const gapPx = 4;

/** An event's tags on one line, as many as fit. A click filters by the tag; a URL opens. */
export function TagChips({ tags, widthPx, isLarge = false, pick }: TagChipsProps) {
  const all = Object.entries(tags);
  const shown = all.slice(0, fittingCount(all, widthPx));
  return (
    <div className={clsx("flex min-w-0 items-center gap-1 overflow-hidden", isLarge && "-mb-2 py-2")}>
      {shown.map(([key, value]) => {
        const text = (
          <>
            <span className="hostile-line max-w-24 shrink-0">{key}</span>
            <span className="hostile-line text-ink">{value}</span>
          </>
        );
        return isWebAddress(value) ? (
          <a
            key={key}
            href={value}
            {...externalLink}
            tabIndex={-1}
            title={`Open ${value}`}
            className={clsx(chipClass, isLarge ? largeChipClass : smallChipClass)}
          >
            {text}
            <ArrowUpRight aria-hidden className="size-3 shrink-0" />
          </a>
        ) : (
          <button
            key={key}
            type="button"
            tabIndex={-1}
            onClick={(click) => pick(click, `tag.${key}`, value)}
            title={`Only events with ${key} = ${value}. Alt-click excludes them.`}
            className={clsx(chipClass, isLarge ? largeChipClass : smallChipClass)}
          >
            {text}
          </button>
        );
      })}
      {all.length > shown.length && (
        <span className="shrink-0 pl-0.5 text-faint text-xs">+{all.length - shown.length}</span>
      )}
    </div>
  );
}

const chipClass =
  "relative z-10 flex min-w-0 max-w-[190px] items-center gap-1 rounded border border-line bg-canvas " +
  "text-muted text-xs hover:border-line-strong hover:bg-pressed";
const smallChipClass = "h-5 px-1.5 pointer-coarse:h-7";
/** The touch target extends 8 pixels above and below the border. */
const largeChipClass = "h-7 px-2 after:absolute after:inset-x-0 after:-inset-y-[9px] after:content-['']";

/** Estimated from the length of the text, because measuring each row would be too slow. */
function fittingCount(tags: [string, string][], widthPx: number): number {
  let usedPx = 0;
  let count = 0;
  for (const [key, value] of tags) {
    usedPx += Math.min(chipPxMax, (textUnits(key) + textUnits(value)) * 6.4 + 22) + gapPx;
    const restPx = count + 1 < tags.length ? moreChipPx : 0;
    if (count > 0 && usedPx + restPx > widthPx) break;
    count++;
    if (count === chipsMax) break;
  }
  return count;
}

/** Text width in units of a Latin letter; East Asian characters count twice. */
function textUnits(text: string): number {
  let units = 0;
  for (const character of text.slice(0, 40)) units += character.codePointAt(0)! > 0x2e7f ? 2 : 1;
  return units;
}

/** Whether the whole text is an HTTP(S) URL that can be opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
}

/** For links in events: the linked page gets no referrer and no handle on this window. */
export const externalLink = { target: "_blank", rel: "noopener noreferrer nofollow" } as const;

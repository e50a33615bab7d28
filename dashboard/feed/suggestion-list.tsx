import { clsx } from "clsx";
import { formatNumber } from "../components/locale.ts";
import type { SuggestionsProps } from "./suggestions.tsx";

/** The suggestions below a search box. */
export function SuggestionList({ id, list, active, choose }: SuggestionsProps) {
  return (
    <div
      id={`${id}-list`}
      role="listbox"
      aria-label="Suggestions"
      className="absolute top-full left-4 z-20 mt-1 max-h-80 w-80 max-w-[calc(100%-2rem)] animate-rise overflow-y-auto rounded-lg border border-line-strong bg-raised p-1 shadow-md md:left-10"
    >
      {list.map((suggestion, index) => (
        <div
          key={suggestion.insert}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          // On pointer down, so that the input keeps the focus.
          onPointerDown={(event) => {
            event.preventDefault();
            choose(suggestion);
          }}
          tabIndex={-1}
          className={clsx(
            "flex h-8 cursor-pointer items-center justify-between gap-3 rounded-md px-2 text-sm max-md:h-11",
            index === active ? "bg-pressed" : "hover:bg-hover",
          )}
        >
          <span className="hostile-line min-w-0">
            {suggestion.kind === "tag" ? suggestion.insert : suggestion.text}
            {suggestion.kind !== "tag" && suggestion.detail !== undefined && (
              <span className="text-muted"> {suggestion.detail}</span>
            )}
          </span>
          <span className="flex shrink-0 items-center gap-2 text-faint text-xs">
            {suggestion.events !== undefined && (
              <span className="text-muted tabular-nums">{formatNumber(suggestion.events)}</span>
            )}
            {suggestion.kind}
          </span>
        </div>
      ))}
    </div>
  );
}

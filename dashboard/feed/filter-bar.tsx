import { ListFilter, X } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { Kbd } from "../components/ui/kbd.tsx";
import { useShortcuts } from "../shell/shortcuts.ts";
import { type Filters, labelOf, readFilters } from "./filters.ts";

type FilterBarProps = { filters: Filters; change: (filters: Filters) => void };

/** What the feed is narrowed to, each part with its cross, and a box to narrow it further. */
export function FilterBar({ filters, change }: FilterBarProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [hint, setHint] = useState(false);
  const chips = Object.entries(filters);

  useShortcuts({
    "/"(event) {
      event.preventDefault();
      input.current?.focus();
    },
  });

  function onKey(event: KeyboardEvent) {
    if (event.key === "Enter") {
      const { filters: typed, rest } = readFilters(text);
      setHint(rest !== "");
      setText(rest);
      if (Object.keys(typed).length > 0) change({ ...filters, ...typed });
    } else if (event.key === "Backspace" && text === "" && chips.length > 0) {
      change(Object.fromEntries(chips.slice(0, -1)));
    } else if (event.key === "Escape") input.current?.blur();
  }

  return (
    <div className="flex min-h-11 shrink-0 flex-wrap items-center gap-1.5 border-line border-b px-4 py-1.5 md:px-5">
      <ListFilter aria-hidden className="mr-1 size-4 shrink-0 text-faint" />
      {chips.map(([key, value]) => (
        <span
          key={key}
          className="flex h-7 min-w-0 max-w-full items-center rounded-md border border-line-strong bg-raised pl-2 text-sm"
        >
          <span className="shrink-0 text-faint">{labelOf(key)}</span>
          <span className="hostile-line px-1.5 font-medium">{value}</span>
          <button
            type="button"
            aria-label={`Remove the filter ${labelOf(key)} ${value}`}
            onClick={() => change(Object.fromEntries(chips.filter(([each]) => each !== key)))}
            className="flex h-full w-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink"
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </span>
      ))}
      <input
        ref={input}
        aria-label="Filter"
        aria-describedby={hint ? "filter-hint" : undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
        placeholder={chips.length > 0 ? "Add a filter" : "Filter: user:…, name:…, tag=value"}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        enterKeyHint="search"
        className="h-7 min-w-40 flex-1 rounded bg-transparent px-1 text-sm outline-offset-0 placeholder:text-faint max-md:text-lg"
      />
      {hint && (
        <span id="filter-hint" role="status" className="text-muted text-xs">
          Write <b className="font-medium">user:</b>, <b className="font-medium">name:</b>,{" "}
          <b className="font-medium">channel:</b> or <b className="font-medium">tag=value</b>
        </span>
      )}
      {chips.length > 1 && (
        <button
          type="button"
          onClick={() => change({})}
          className="h-7 rounded-md px-2 text-muted text-sm hover:bg-hover hover:text-ink"
        >
          Clear
        </button>
      )}
      <span aria-hidden className="max-md:hidden">
        <Kbd>/</Kbd>
      </span>
    </div>
  );
}

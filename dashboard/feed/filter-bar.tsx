import { ListFilter, Search, X } from "lucide-react";
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useState,
} from "react";
import { SearchError } from "../../server/event/search.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { Kbd, useShortcuts } from "../shell/shortcuts.tsx";
import { type Filters, labelOf, withSearch } from "./filters.ts";
import { recentSearches, rememberSearch } from "./recent-searches.ts";
import type { SearchMistakeProps } from "./search-mistake.tsx";
import { Suggestions, useSuggestions } from "./suggestions.tsx";
import { entered, searchSoFar } from "./typed.ts";

const SearchMistake = lazyPart<SearchMistakeProps>(
  async () => (await import("./search-mistake.tsx")).SearchMistake,
);

export type ChangeOptions = {
  /** The text that stays in the search field. Default: none. */
  typed?: string;
  /** Replaces the current entry of the browser's history. */
  replace?: boolean;
};

type FilterBarProps = {
  project: string;
  filters: Filters;
  change: (filters: Filters, options?: ChangeOptions) => void;
  /** The search field's text, as the feed shows it. */
  typed: string;
  type: (text: string) => void;
  /** Shown at the end. */
  children?: ReactNode;
};

/** How long nothing was typed before the feed shows it. */
const typingMs = 200;

/** The feed's filters as removable chips, and an input to search and add filters. */
export function FilterBar({ project, filters, change, typed, type, children }: FilterBarProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useTypedText(typed, type);
  const [error, setError] = useState<SearchError | null>(null);
  const offered = () => recentSearches(project);
  const suggestions = useSuggestions(project, input, error ? "" : text, setInput, {
    offered: error ? undefined : offered,
    endsTerms: true,
  });
  const chips = Object.entries(filters);

  /** Removes filters. Who used the keyboard, which has no pointer's count of clicks, goes on in the input. */
  function remove({ detail }: MouseEvent, remaining: Filters) {
    change(remaining, { typed: text });
    if (detail === 0) input.current?.focus();
  }

  useShortcuts({
    "/"(event) {
      event.preventDefault();
      input.current?.focus();
    },
  });

  function setInput(typed: string) {
    setText(typed);
    setError(null);
  }

  function search(sought = entered(text)) {
    try {
      change(withSearch(filters, sought), { replace: typed !== "" });
      rememberSearch(project, sought);
      setInput("");
      suggestions.close();
    } catch (thrown) {
      if (!(thrown instanceof SearchError)) throw thrown;
      setError(thrown);
      suggestions.close();
      input.current?.setSelectionRange(thrown.column - 1, thrown.column - 1);
    }
  }

  function onKey(event: KeyboardEvent) {
    if (suggestions.onKey(event)) return;
    if (event.key === "Enter" && text.trim() !== "") search();
    else if (event.key === "Backspace" && text === "" && chips.length > 0) {
      change(Object.fromEntries(chips.slice(0, -1)));
    } else if (event.key === "Escape") input.current?.blur();
  }

  return (
    <div className="relative flex min-h-11 shrink-0 flex-wrap items-center gap-1.5 border-line border-b px-4 py-1.5 md:px-5">
      <ListFilter aria-hidden className="mr-1 size-4 shrink-0 text-faint" />
      {chips.map(([key, value]) => (
        <span
          key={key}
          className="flex h-7 min-w-0 max-w-full items-center rounded-md border border-line-strong bg-raised pl-2 text-sm"
        >
          {key === "q" ? (
            <Search aria-hidden className="size-3.5 shrink-0 text-faint" />
          ) : (
            <span className="shrink-0 text-faint">{labelOf(key)}</span>
          )}
          <span className="hostile-line px-1.5 font-medium">{value}</span>
          <button
            type="button"
            aria-label={`Remove filter: ${labelOf(key)} ${value}`}
            onClick={(click) => remove(click, Object.fromEntries(chips.filter(([each]) => each !== key)))}
            className="flex h-full w-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink"
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </span>
      ))}
      <input
        {...suggestions.inputProps}
        ref={input}
        aria-label="Search and filter"
        aria-describedby={error ? "search-error" : undefined}
        aria-invalid={error ? true : undefined}
        value={text}
        onChange={(event) => setInput(event.target.value)}
        onKeyDown={onKey}
        placeholder={chips.length > 0 ? "Add a filter…" : "Search: words, user:…, tag=value, tag>5, -exclude"}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        enterKeyHint="search"
        className="h-7 min-w-32 flex-1 rounded bg-transparent px-1 text-sm outline-offset-0 placeholder:text-faint placeholder-shown:text-ellipsis max-md:text-lg"
      />
      {text !== "" && (
        <IconButton
          label="Clear the search field"
          onClick={() => {
            setInput("");
            type("");
            input.current?.focus();
          }}
          className="size-7 max-md:size-10"
        >
          <X aria-hidden className="size-3.5" />
        </IconButton>
      )}
      {chips.length > 1 && (
        <button
          type="button"
          onClick={(click) => remove(click, {})}
          // Phones have no room for it, and each filter has a button of its own.
          className="h-7 rounded-md px-2 text-muted text-sm hover:bg-hover hover:text-ink max-md:hidden"
        >
          Clear
        </button>
      )}
      {children}
      {chips.length === 0 && text === "" && (
        <span aria-hidden className="max-md:hidden">
          <Kbd>/</Kbd>
        </span>
      )}
      {error && (
        <Suspense>
          <SearchMistake id="search-error" error={error} text={text} input={input} correct={search} />
        </Suspense>
      )}
      <Suggestions {...suggestions} />
    </div>
  );
}

/** The text of the search field. The URL has it once nothing was typed for a moment, and can change it. */
function useTypedText(typed: string, type: (text: string) => void) {
  const [text, setText] = useState(typed);
  const [last, setLast] = useState(typed);
  /** Searches that this field has put into the URL. They can arrive after more was typed. */
  const asked = useRef(new Set<string>());
  if (typed !== last) {
    setLast(typed);
    if (!asked.current.delete(typed)) setText(typed);
  }
  useEffect(() => {
    if (text === typed || (typed === "" && searchSoFar(text) === "")) return;
    const timer = setTimeout(() => {
      asked.current.add(text);
      type(text);
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text, typed, type]);
  return [text, setText] as const;
}

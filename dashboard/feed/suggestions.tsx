import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import {
  type ComponentProps,
  type KeyboardEvent,
  type RefObject,
  Suspense,
  useId,
  useRef,
  useState,
} from "react";
import type { Completion } from "../../server/schemas/completion.ts";
import { api } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";

const SuggestionList = lazyPart<SuggestionsProps>(
  async () => (await import("./suggestion-list.tsx")).SuggestionList,
);

type SuggestionOptions = {
  /** Suggestions for an empty search box, read when it gets the focus. */
  offered?: (() => Suggestion[]) | undefined;
  /** A space follows the suggestion, because the term is finished. Not if a value must follow. */
  endsTerms?: boolean;
};

/**
 * Completes the text in a search box: a list of suggestions, and the keys that choose from it. It is a combobox as the
 * ARIA Authoring Practices describe it (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/).
 */
export function useSuggestions(
  project: string,
  input: RefObject<HTMLInputElement | null>,
  text: string,
  write: (text: string) => void,
  { offered, endsTerms = false }: SuggestionOptions = {},
) {
  const id = useId();
  const [caret, setCaret] = useState<number | null>(null);
  const [active, setActive] = useState(-1);
  /** The cursor's position when the list was closed. A selection event that only repeats it doesn't reopen the list. */
  const closedAt = useRef<number | null>(null);
  const isEnabled = caret !== null && text !== "";
  const [first, setFirst] = useState<Suggestion[]>([]);
  const { data } = useQuery({
    ...completionQuery(project, text, caret ?? 0),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  });
  const firstShown = offered && text === "" && caret !== null ? first : [];
  const list = isEnabled && data ? data.suggestions : firstShown;
  const isOpen = list.length > 0;

  function close() {
    closedAt.current = caret;
    setCaret(null);
    setActive(-1);
  }

  function choose(suggestion: Suggestion) {
    const { start, end: after } = text === "" ? { start: 0, end: 0 } : data!;
    // The text that was typed since the suggestions arrived is before the caret.
    const rest = text.slice(Math.max(after, caret!));
    const isFinished = endsTerms && suggestion.kind !== "field" && suggestion.kind !== "key";
    const insert = isFinished && rest === "" ? `${suggestion.insert} ` : suggestion.insert;
    const end = start + insert.length;
    write(text.slice(0, start) + insert + rest);
    setActive(-1);
    setCaret(end);
    // After React has put the new text into the input.
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(end, end);
    });
  }

  /** Handles a key if it is for the list; returns whether it was. */
  function onKey(event: KeyboardEvent): boolean {
    if (!isOpen) return false;
    if (event.key === "ArrowDown") setActive((active + 1) % list.length);
    else if (event.key === "ArrowUp") setActive((active <= 0 ? list.length : active) - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && active >= 0) choose(list[active]!);
    else if (event.key === "Tab" && !event.shiftKey && active >= 0) choose(list[active]!);
    else return false;
    event.preventDefault();
    return true;
  }

  const inputProps: ComponentProps<"input"> = {
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": isOpen,
    "aria-controls": `${id}-list`,
    "aria-activedescendant": isOpen && active >= 0 ? `${id}-${active}` : undefined,
    // No suggestions while text is selected.
    onSelect: ({ currentTarget: { selectionStart, selectionEnd } }) => {
      if (selectionStart === closedAt.current) return;
      closedAt.current = null;
      setCaret(selectionStart === selectionEnd ? selectionStart : null);
    },
    onInput: (event) => {
      closedAt.current = null;
      setCaret(event.currentTarget.selectionStart);
      setActive(-1);
    },
    onFocus: ({ currentTarget: { selectionStart } }) => {
      closedAt.current = null;
      setFirst(offered?.() ?? []);
      setCaret(selectionStart);
    },
    onBlur: close,
  };

  return { id, list, active, choose, close, onKey, inputProps };
}

export type SuggestionsProps = Pick<ReturnType<typeof useSuggestions>, "id" | "list" | "active" | "choose">;

/** The list of suggestions, which is loaded with the first ones. */
export function Suggestions(props: SuggestionsProps) {
  if (props.list.length === 0) return null;
  return (
    <Suspense>
      <SuggestionList {...props} />
    </Suspense>
  );
}

export type Suggestion = Omit<Completion["suggestions"][number], "kind"> & { kind: string };

/** Suggestions for the text at the cursor of a search. */
export function completionQuery(project: string, q: string, at: number) {
  return queryOptions({
    queryKey: ["completion", project, q, at],
    queryFn: ({ signal }) =>
      api<Completion>("/api/search/complete", { query: { project, q, at: String(at) }, signal }),
    staleTime: 30_000,
    retry: false,
  });
}

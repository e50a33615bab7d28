import { type ReactNode, useEffect, useRef, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";
import { mistakeIn } from "../feed/filters.ts";
import { MistakeText, MistakeUnderline } from "../feed/search-mistake.tsx";
import { Suggestions, useSuggestions } from "../feed/suggestions.tsx";
import { useProjectSlug } from "../projects/current-project.ts";

type Props = {
  q: string;
  onChange: (q: string) => void;
  /** Of the request, for which this is the search. */
  member: string;
  error?: ReactNode;
  label?: string;
  hint?: string;
  placeholder?: string;
};

/** The pause in typing before a mistake is shown. Unfinished searches are seldom valid. */
const typingMs = 500;

/** A search that is completed as in the feed, and whose mistakes are shown where they are. */
export function SearchField({
  q,
  onChange,
  member,
  error,
  label = "Events that match",
  hint = "A search, as in the feed. Empty matches all events. notify:true matches events sent with notify.",
  placeholder = "channel:payments tag=value -exclude",
}: Props) {
  const input = useRef<HTMLInputElement>(null);
  const suggestions = useSuggestions(useProjectSlug(), input, q, onChange);
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(q), typingMs);
    return () => clearTimeout(timer);
  }, [q]);
  const mistake = typed === q || error !== undefined ? mistakeIn(q) : null;

  function correct(corrected: string) {
    onChange(corrected);
    input.current?.focus();
  }

  return (
    <div className="relative">
      <Field
        {...suggestions.inputProps}
        ref={input}
        label={label}
        value={q}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={suggestions.onKey}
        maxLength={limits.searchCharacters}
        placeholder={placeholder}
        hint={hint}
        member={member}
        error={mistake ? <MistakeText error={mistake} correct={correct} /> : error}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      {mistake && <MistakeUnderline error={mistake} text={q} input={input} />}
      <Suggestions {...suggestions} />
    </div>
  );
}

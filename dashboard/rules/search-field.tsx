import { useRef } from "react";
import { limits } from "../../server/limits.ts";
import { Field } from "../components/ui/field.tsx";
import { Suggestions, useSuggestions } from "../feed/suggestions.tsx";
import { useProjectSlug } from "../projects/current-project.ts";

type Props = {
  q: string;
  onChange: (q: string) => void;
  /** Of the request, for which this is the search. */
  member: string;
  error?: string | undefined;
  label?: string;
  hint?: string;
};

/** A search that is completed as in the feed. */
export function SearchField({
  q,
  onChange,
  member,
  error,
  label = "Events that match",
  hint = "A search, as in the feed. Empty matches all events; notify:true those that were sent to notify.",
}: Props) {
  const input = useRef<HTMLInputElement>(null);
  const suggestions = useSuggestions(useProjectSlug(), input, q, onChange);
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
        placeholder="channel:payments tag=value -exclude"
        hint={hint}
        member={member}
        error={error}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <Suggestions {...suggestions} />
    </div>
  );
}

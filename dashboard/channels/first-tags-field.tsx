import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { EventList } from "../../server/event/event.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { tagKeysOf } from "../feed/rows.ts";
import { useProjectSlug } from "../projects/current-project.ts";

type Props = { channel: string; keys: readonly string[]; onChange: (keys: string[]) => void };

const newestEvents = 100;

/**
 * Chooses the tags that a channel's rows show first, in order. They are picked from the tags of its events, or typed.
 */
export function FirstTagsField({ channel, keys, onChange }: Props) {
  const project = useProjectSlug();
  const [typed, setTyped] = useState("");
  const { data: known = [] } = useQuery({
    queryKey: ["tag-keys", project, channel],
    queryFn: async () => {
      const query = { project, channel, limit: String(newestEvents) };
      const { events } = await api<EventList>("/api/events", { query });
      return tagKeysOf(events.map((event) => ({ event })));
    },
  });
  const offered = known.filter((key) => !keys.includes(key));
  const isFull = keys.length >= limits.channelFirstTags;

  function add(key: string) {
    setTyped("");
    if (key !== "" && !keys.includes(key)) onChange([...keys, key]);
  }

  function onKey(event: KeyboardEvent) {
    if (event.key !== "Enter" || typed.trim() === "") return;
    // It would save the channel.
    event.preventDefault();
    add(typed.trim());
  }

  return (
    <div className="flex flex-col gap-2">
      <Field
        label="Tags shown first"
        hint="In the feed, lists and boards. Without any, tags are shown in the order that they were sent in."
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={onKey}
        onBlur={() => add(typed.trim())}
        maxLength={limits.tagKeyCharacters}
        disabled={isFull}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        placeholder={isFull ? `At most ${limits.channelFirstTags}` : "A tag's name, then Enter"}
        member="firstTags"
      />
      {keys.length > 0 && (
        <ol aria-label="Tags shown first, in this order" className="flex flex-wrap gap-1.5">
          {keys.map((key, index) => (
            <li
              key={key}
              className="flex h-8 min-w-0 max-w-full items-center rounded-md border border-line-strong bg-accent-soft pl-2.5 text-sm"
            >
              <span className="mr-1.5 text-faint text-xs">{index + 1}</span>
              <span className="hostile-line">{key}</span>
              <button
                type="button"
                aria-label={`Remove ${key}`}
                onClick={() => onChange(keys.filter((each) => each !== key))}
                className="flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:text-ink"
              >
                <X aria-hidden className="size-3.5" />
              </button>
            </li>
          ))}
        </ol>
      )}
      {offered.length > 0 && !isFull && (
        <fieldset className="flex min-w-0 flex-wrap gap-1.5">
          <legend className="sr-only">Tags of this channel's events</legend>
          {offered.map((key) => (
            <Button
              key={key}
              aria-label={`Show ${key} first`}
              className="min-w-0 max-w-full shrink px-2.5 font-normal"
              onClick={() => add(key)}
            >
              <Plus aria-hidden className="size-3.5 shrink-0 text-faint" />
              <span className="hostile-line">{key}</span>
            </Button>
          ))}
        </fieldset>
      )}
    </div>
  );
}

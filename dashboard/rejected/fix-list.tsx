import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { eventMembers } from "../../server/event/apply-fixes.ts";
import type { EventFix } from "../../server/event/event-fix.ts";
import { channelsQuery } from "../channels/channels.ts";
import { IconButton } from "../components/ui/button.tsx";

const labels: Record<EventFix["type"], string> = {
  "tags-to-strings": "Turn numbers and booleans in tags into strings",
  rename: "Rename a field",
  drop: "Remove a field",
  "to-tag": "Move a field to the tags",
  shorten: "Shorten texts that are too long",
  clean: "Remove control characters",
  "set-channel": "Set the channel",
};

const emptyFixes: Record<EventFix["type"], EventFix> = {
  "tags-to-strings": { type: "tags-to-strings" },
  rename: { type: "rename", from: "", to: "name" },
  drop: { type: "drop", member: "" },
  "to-tag": { type: "to-tag", member: "" },
  shorten: { type: "shorten" },
  clean: { type: "clean" },
  "set-channel": { type: "set-channel", channel: "" },
};

/** Whether every field of a fix is filled in. */
export function isComplete(fix: EventFix): boolean {
  return Object.values(fix).every((value) => value !== "");
}

type Props = {
  project: string;
  fixes: EventFix[];
  /** Members of an example that can be renamed, dropped or moved. */
  members: string[];
  change: (fixes: EventFix[]) => void;
};

/** The changes that are made to each event, in their order. */
export function FixList({ project, fixes, members, change }: Props) {
  const id = useId();
  const replace = (index: number, fix: EventFix) => change(fixes.with(index, fix));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium text-sm">Fixes, applied to each event</legend>
      {fixes.length > 0 && (
        <ol className="divide-y divide-line rounded-md border border-line-strong">
          {fixes.map((fix, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: fixes have no identity but their place
            <li key={index} className="flex min-h-11 items-center gap-2 py-1.5 pr-1.5 pl-3">
              <div className="flex min-w-0 flex-1 flex-wrap items-center gap-2 text-sm">
                <span>{labels[fix.type]}</span>
                <FixFields
                  project={project}
                  fix={fix}
                  members={members}
                  change={(changed) => replace(index, changed)}
                />
              </div>
              <IconButton
                label={`Remove the fix: ${labels[fix.type]}`}
                onClick={() => change(fixes.toSpliced(index, 1))}
                className="size-7 max-md:size-10"
              >
                <X aria-hidden className="size-4" />
              </IconButton>
            </li>
          ))}
        </ol>
      )}
      <div className="relative flex items-center">
        <Plus aria-hidden className="pointer-events-none absolute left-3 size-4 text-muted" />
        <label htmlFor={id} className="sr-only">
          Add a fix
        </label>
        <select
          id={id}
          value=""
          onChange={({ target }) => change([...fixes, emptyFixes[target.value as EventFix["type"]]])}
          className="h-9 w-full rounded-md border border-line-strong border-dashed bg-raised pl-9 text-muted text-sm max-md:h-11 max-md:text-lg"
        >
          <option value="">Add a fix…</option>
          {Object.entries(labels).map(([type, label]) => (
            <option key={type} value={type}>
              {label}
            </option>
          ))}
        </select>
      </div>
    </fieldset>
  );
}

const smallInput =
  "h-8 min-w-0 max-w-36 rounded-md border border-line-strong bg-surface px-2 font-mono text-xs focus-visible:outline-offset-0 max-md:h-10 max-md:text-lg";

type FieldsProps = Omit<Props, "fixes" | "change"> & { fix: EventFix; change: (fix: EventFix) => void };

function FixFields({ project, fix, members, change }: FieldsProps) {
  const id = useId();
  const { data: channels = [] } = useQuery(channelsQuery(project));
  const text = (label: string, value: string, options: readonly string[], set: (text: string) => void) => (
    <>
      <input
        aria-label={label}
        value={value}
        list={`${id}-${label}`}
        maxLength={200}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={({ target }) => set(target.value)}
        className={smallInput}
      />
      <datalist id={`${id}-${label}`}>
        {options.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  );
  switch (fix.type) {
    case "rename":
      return (
        <>
          {text("Old name", fix.from, members, (from) => change({ ...fix, from }))}
          <span className="text-muted">to</span>
          {text("New name", fix.to, eventMembers, (to) => change({ ...fix, to }))}
        </>
      );
    case "drop":
    case "to-tag":
      return text("Field", fix.member, members, (member) => change({ ...fix, member }));
    case "set-channel":
      return text(
        "Channel",
        fix.channel,
        channels.map(({ id }) => id),
        (channel) => change({ ...fix, channel }),
      );
    default:
      return null;
  }
}

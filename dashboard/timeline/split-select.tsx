import { useState } from "react";
import type { Split } from "./histogram.ts";

type SplitSelectProps = {
  split: Split;
  change: (split: Split) => void;
  tagKeys: () => string[];
  isOneChannel: boolean;
};

/** Chooses the split of the bars. */
export function SplitSelect({ split, change, tagKeys, isOneChannel }: SplitSelectProps) {
  // Not updated with each event, because a list that is open must not change.
  const [keys, setKeys] = useState<string[]>([]);
  const current = split.startsWith("tag.") ? [split.slice("tag.".length)] : [];
  const tags = [...new Set([...keys, ...current])];
  return (
    <select
      aria-label="Split by"
      value={split}
      onFocus={() => setKeys(tagKeys())}
      onPointerDown={() => setKeys(tagKeys())}
      onChange={(event) => change(event.target.value as Split)}
      className="h-7 max-w-40 truncate rounded-md bg-transparent pl-1.5 text-muted text-sm hover:bg-hover hover:text-ink max-md:h-10"
    >
      <option value="">Not split</option>
      {!isOneChannel && <option value="channel">By channel</option>}
      <option value="name">By name</option>
      {tags.map((key) => (
        <option key={key} value={`tag.${key}`}>
          By {key}
        </option>
      ))}
    </select>
  );
}

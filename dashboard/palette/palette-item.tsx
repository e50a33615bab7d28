import { Command } from "cmdk";
import type { ReactNode } from "react";
import { formatNumber } from "../components/locale.ts";
import type { Item } from "./items.ts";

/** A part of the palette's list. */
export function PaletteGroup({ heading, children }: { heading?: string; children: ReactNode }) {
  return (
    <Command.Group
      {...(heading !== undefined && { heading })}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

/** An entry of the palette. */
export function PaletteItem({ item, value, onSelect }: { item: Item; value: string; onSelect: () => void }) {
  const { icon, label, detail, events } = item;
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-base data-[selected=true]:bg-pressed max-md:h-11 [&_svg]:size-4 [&_svg]:text-faint"
    >
      <span className="flex size-5 shrink-0 items-center justify-center">{icon}</span>
      <span className="hostile-line min-w-0 flex-1">
        {label}
        {detail !== undefined && <span className="text-muted"> {detail}</span>}
      </span>
      {events !== undefined && (
        <span className="shrink-0 text-muted text-sm tabular-nums">{formatNumber(events)}</span>
      )}
    </Command.Item>
  );
}

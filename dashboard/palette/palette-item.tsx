import { Command } from "cmdk";
import type { ReactNode } from "react";

/** A part of the palette's list. */
export function PaletteGroup({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

type Props = { icon: ReactNode; value?: string; onSelect: () => void; children: ReactNode };

/** An entry of the palette. Without a value, it is found by its text. */
export function PaletteItem({ icon, value, onSelect, children }: Props) {
  return (
    <Command.Item
      {...(value !== undefined && { value })}
      onSelect={onSelect}
      className="flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-base data-[selected=true]:bg-pressed max-md:h-11 [&_svg]:size-4 [&_svg]:text-faint"
    >
      <span className="flex size-5 shrink-0 items-center justify-center">{icon}</span>
      <span className="hostile-line">{children}</span>
    </Command.Item>
  );
}

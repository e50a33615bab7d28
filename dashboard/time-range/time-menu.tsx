import { CalendarRange, Check, CornerDownRight } from "lucide-react";
import type { ReactNode } from "react";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import type { TimeDialogProps } from "./time-dialog.tsx";
import { type Range, ranges, type TimeFilter } from "./time-range.ts";

export type TimeMenuProps = {
  trigger: ReactNode;
  time: TimeFilter;
  change: (time: TimeFilter) => void;
  openDialog: (mode: TimeDialogProps["mode"]) => void;
  canJump: boolean;
};

/** The usual ranges, and what opens the dialog for others. */
export function TimeMenu({ trigger, time, change, openDialog, canJump }: TimeMenuProps) {
  const isAll = Object.keys(time).length === 0;
  return (
    <Menu defaultOpen trigger={trigger}>
      {Object.entries(ranges).map(([range, name]) => (
        <Choice
          key={range}
          isChosen={time.range === range}
          onSelect={() => change({ range: range as Range })}
        >
          {name}
        </Choice>
      ))}
      <Choice isChosen={isAll} onSelect={() => change({})}>
        All time
      </Choice>
      <MenuSeparator />
      <MenuItem onSelect={() => openDialog("range")}>
        <CalendarRange aria-hidden />
        Custom range…
      </MenuItem>
      {canJump && (
        <MenuItem onSelect={() => openDialog("jump")}>
          <CornerDownRight aria-hidden />
          Jump to date…
        </MenuItem>
      )}
    </Menu>
  );
}

type ChoiceProps = { isChosen: boolean; onSelect: () => void; children: ReactNode };

function Choice({ isChosen, onSelect, children }: ChoiceProps) {
  return (
    <MenuItem onSelect={onSelect} aria-current={isChosen ? "true" : undefined}>
      <Check aria-hidden className={isChosen ? "" : "invisible"} />
      {children}
    </MenuItem>
  );
}

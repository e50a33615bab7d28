import { CalendarRange, Check, CornerDownRight } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import type { TimeDialogProps } from "./time-dialog.tsx";
import { type Range, ranges, type TimeFilter } from "./time-range.ts";

export type TimeMenuProps = {
  trigger: ReactNode;
  time: TimeFilter;
  change: (time: TimeFilter) => void;
  openDialog: (mode: TimeDialogProps["mode"]) => void;
  offered: readonly Range[];
  hasAll: boolean;
  canJump: boolean;
  isWholeDays: boolean;
};

/** The usual ranges, and what opens the dialog for others. */
export function TimeMenu({ trigger, time, change, openDialog, ...options }: TimeMenuProps) {
  const { offered, hasAll, canJump, isWholeDays } = options;
  const isAll = Object.keys(time).length === 0;
  return (
    <Menu defaultOpen trigger={trigger}>
      {offered.map((range, index) => (
        <Fragment key={range}>
          {/* Days of the calendar come first, and then lengths. */}
          {index > 0 && /^\d/.test(range) && !/^\d/.test(offered[index - 1]!) && <MenuSeparator />}
          <Choice isChosen={time.range === range} onSelect={() => change({ range })}>
            {ranges[range]}
          </Choice>
        </Fragment>
      ))}
      {hasAll && (
        <Choice isChosen={isAll} onSelect={() => change({})}>
          All time
        </Choice>
      )}
      <MenuSeparator />
      <MenuItem onSelect={() => openDialog("range")}>
        <CalendarRange aria-hidden />
        {isWholeDays ? "Choose days…" : "Choose days or times…"}
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

import { Check } from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { chooseDisplay, useDisplay } from "./display.ts";

export type PauseProps = { isPaused: boolean; toggle: () => void };

/**
 * The menu for the feed's look: its density, and whether it folds repeated events. On phones it also pauses the feed.
 */
export default function DisplayMenu({ isPaused, toggle, ...props }: MenuContentProps & PauseProps) {
  const { isCompact, folds } = useDisplay();
  return (
    <Menu {...props} align="end">
      <MenuItem onSelect={toggle} className="md:hidden">
        {isPaused ? "Resume the feed" : "Pause the feed"}
      </MenuItem>
      <MenuLabel>Density</MenuLabel>
      {[false, true].map((compact) => (
        <MenuItem key={`${compact}`} onSelect={() => chooseDisplay({ isCompact: compact })}>
          <span className="flex-1">{compact ? "Compact" : "Comfortable"}</span>
          {compact === isCompact && <Check aria-label="Chosen" />}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem onSelect={() => chooseDisplay({ folds: !folds })}>
        <span className="flex-1">Fold repeated events</span>
        {folds && <Check aria-label="Chosen" />}
      </MenuItem>
    </Menu>
  );
}

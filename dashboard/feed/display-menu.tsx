import { Check } from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { chooseDisplay, useDisplay } from "./display.ts";

/** How the feed looks: its density, and whether repeated events are folded. */
export default function DisplayMenu(props: MenuContentProps) {
  const { isCompact, folds } = useDisplay();
  return (
    <Menu {...props} align="end">
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

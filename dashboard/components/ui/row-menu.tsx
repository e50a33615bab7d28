import { type LucideIcon, MoreHorizontal } from "lucide-react";
import { IconButton } from "./button.tsx";
import { Menu, MenuItem, MenuSeparator } from "./menu.tsx";

export type RowAction = {
  /** Tells it from others with the same label. */
  id?: string;
  /** In words. With "…" at the end if a dialog opens. */
  label: string;
  icon: LucideIcon;
  onSelect: () => void;
  disabled?: boolean;
  /** It deletes or ends something, so it comes last. */
  danger?: boolean;
};

type Props = {
  /** Names the row. */
  name: string;
  /** False and null are left out, so that a row can have fewer. */
  actions: readonly (RowAction | false | null)[];
};

/** The menu at the end of a list's row, with everything that can be done with it. Without actions, there is none. */
export function RowMenu({ name, actions }: Props) {
  const listed = actions.filter((action) => action !== false && action !== null);
  const harmless = listed.filter(({ danger = false }) => !danger);
  const dangerous = listed.filter(({ danger = false }) => danger);
  if (listed.length === 0) return null;
  return (
    <Menu
      align="end"
      trigger={
        <IconButton
          label={`Actions for ${name}`}
          className="size-8 data-[state=open]:bg-hover data-[state=open]:text-ink max-md:size-10"
        >
          <MoreHorizontal aria-hidden className="size-4" />
        </IconButton>
      }
    >
      {harmless.map(itemOf)}
      {harmless.length > 0 && dangerous.length > 0 && <MenuSeparator />}
      {dangerous.map(itemOf)}
    </Menu>
  );
}

function itemOf({ label, id = label, icon: Icon, onSelect, disabled = false, danger = false }: RowAction) {
  return (
    <MenuItem key={id} onSelect={onSelect} disabled={disabled} danger={danger}>
      <Icon aria-hidden />
      <span className="hostile-line">{label}</span>
    </MenuItem>
  );
}

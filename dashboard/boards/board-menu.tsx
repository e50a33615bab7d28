import { ArrowLeft, ArrowRight, CopyPlus, Globe, Mail, Plus, Trash2 } from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import { useCan } from "../projects/can.ts";

export type BoardMenuProps = MenuContentProps & {
  canMove: { left: boolean; right: boolean };
  create: () => void;
  duplicate: () => void;
  move: (by: -1 | 1) => void;
  publish: () => void;
  report: () => void;
  remove: () => void;
};

/** The menu of a board. */
export default function BoardMenu({
  canMove,
  create,
  duplicate,
  move,
  publish,
  report,
  remove,
  ...menu
}: BoardMenuProps) {
  const can = useCan();
  const sendAsReport = (
    <MenuItem onSelect={report}>
      <Mail aria-hidden />
      Send as a report…
    </MenuItem>
  );
  if (!can("boards:change"))
    return (
      <Menu {...menu} align="end">
        {sendAsReport}
      </Menu>
    );
  return (
    <Menu {...menu} align="end">
      <MenuItem onSelect={create}>
        <Plus aria-hidden />
        New board
      </MenuItem>
      <MenuItem onSelect={duplicate}>
        <CopyPlus aria-hidden />
        Duplicate
      </MenuItem>
      {canMove.left && (
        <MenuItem onSelect={() => move(-1)}>
          <ArrowLeft aria-hidden />
          Move left
        </MenuItem>
      )}
      {canMove.right && (
        <MenuItem onSelect={() => move(1)}>
          <ArrowRight aria-hidden />
          Move right
        </MenuItem>
      )}
      {can("boards:publish") && (
        <MenuItem onSelect={publish}>
          <Globe aria-hidden />
          Public link
        </MenuItem>
      )}
      {sendAsReport}
      <MenuSeparator />
      <MenuItem onSelect={remove} danger>
        <Trash2 aria-hidden />
        Delete
      </MenuItem>
    </Menu>
  );
}

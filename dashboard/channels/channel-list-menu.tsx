import { useQuery } from "@tanstack/react-query";
import { Check, CheckCheck } from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { markAllRead } from "./channel-actions.ts";
import { chooseOrder, useChannelOrder } from "./channel-order.ts";
import { sidebarQuery } from "./channels.ts";

const orders = { name: "By name", recent: "Newest events first" } as const;

/** The menu of the list of channels. */
export default function ChannelListMenu(props: MenuContentProps) {
  const project = useProjectSlug();
  const { data } = useQuery(sidebarQuery(project));
  const order = useChannelOrder();
  return (
    <Menu {...props} align="end">
      <MenuItem disabled={!data} onSelect={() => data && void markAllRead(project, data)}>
        <CheckCheck aria-hidden />
        Mark all as read
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>Order</MenuLabel>
      {(["name", "recent"] as const).map((each) => (
        <MenuItem key={each} onSelect={() => chooseOrder(each)}>
          <span className="flex-1">{orders[each]}</span>
          {each === order && <Check aria-label="Chosen" />}
        </MenuItem>
      ))}
    </Menu>
  );
}

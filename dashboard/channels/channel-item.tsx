import { Link } from "@tanstack/react-router";
import { Hash, MoreHorizontal } from "lucide-react";
import { memo } from "react";
import type { SidebarChannel } from "../../server/schemas/view.ts";
import { ChannelMark } from "../components/channel-mark.tsx";
import { countOf, shortCount } from "../components/counts.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { navItemClass, navMenuClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { navLink } from "./roving.ts";
import { Unread } from "./unread-count.tsx";

const ChannelMenu = lazyPart<MenuContentProps & { name: string }>(
  async () => (await import("./channel-menu.tsx")).default,
);

type ChannelItemProps = {
  project: string;
  channel: SidebarChannel;
  color: number;
  /** Some channel has an icon, so names begin behind it. */
  hasIcons: boolean;
  isOpen: boolean;
  /** It is the channel that Tab reaches. */
  isTabStop: boolean;
  onNavigate?: (() => void) | undefined;
};

/** A channel in the sidebar, with its unread count. */
export const ChannelItem = memo(function ChannelItem({
  project,
  channel,
  color,
  hasIcons,
  isOpen,
  isTabStop,
  onNavigate,
}: ChannelItemProps) {
  const { id, name, icon, archivedAt } = channel;
  const unread = isOpen ? 0 : channel.unread;
  return (
    <div
      className="group relative shrink-0"
      {...(channel.pin !== null && archivedAt === null && { "data-arrange": "pins", "data-id": id })}
    >
      <Link
        to="/p/$project/channels/$channel"
        params={{ project, channel: id }}
        search={{}}
        className={`${navItemClass} md:group-hover:pr-9 max-md:pr-10`}
        draggable={false}
        data-channel={id}
        tabIndex={isTabStop ? 0 : -1}
        {...navLink("channels", id)}
        data-active={isOpen || undefined}
        aria-current={isOpen ? "page" : undefined}
        onClick={onNavigate}
      >
        <ChannelMark color={color} className="mx-1.5" />
        {icon ? (
          <EventIcon icon={icon} name={name} size="sm" bare />
        ) : (
          hasIcons && <Hash aria-hidden className="mx-0.75 size-3.5 shrink-0 text-faint" />
        )}
        <span
          className={`hostile-line flex-1 ${unread > 0 ? "font-semibold text-ink" : ""} ${archivedAt === null ? "" : "text-faint"}`}
        >
          {name}
        </span>
        {unread > 0 ? <Unread value={unread} /> : <Count value={channel.events} />}
      </Link>
      <LazyMenu
        menu={ChannelMenu}
        props={{ name: id }}
        label={`Actions for ${name}`}
        tabIndex={-1}
        className={navMenuClass}
      >
        <MoreHorizontal aria-hidden className="size-4" />
      </LazyMenu>
    </div>
  );
});

export function Count({ value }: { value: number }) {
  return (
    <span className="text-faint text-xs" title={countOf(value, "event")}>
      {shortCount(value)}
    </span>
  );
}

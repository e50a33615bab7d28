import { Link } from "@tanstack/react-router";
import { Bell, Hash, LayoutDashboard, Newspaper, Settings2, UserRound } from "lucide-react";
import { useInFeed } from "../channels/channel-nav.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "./overlays.tsx";

const itemClass =
  "flex flex-1 flex-col items-center justify-center gap-0.5 text-2xs text-muted data-active:font-medium data-active:text-accent focus-visible:outline-offset-[-2px] [&>svg]:size-5";

/** The navigation bar of phones. */
export function BottomBar() {
  const project = useProjectSlug();
  const inFeed = useInFeed();
  const active = { activeProps: { "data-active": true } };
  return (
    <nav
      aria-label="Pages"
      className="flex h-14 shrink-0 box-content border-line border-t bg-canvas pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <Link
        to="/p/$project"
        params={{ project }}
        search={{}}
        className={itemClass}
        data-active={inFeed || undefined}
      >
        <Newspaper aria-hidden />
        Feed
      </Link>
      <Link to="/p/$project/boards" params={{ project }} className={itemClass} {...active}>
        <LayoutDashboard aria-hidden />
        Boards
      </Link>
      <button type="button" className={itemClass} onClick={() => openOverlay("channels")}>
        <Hash aria-hidden />
        Channels
      </button>
      <Link to="/p/$project/users" params={{ project }} className={itemClass} {...active}>
        <UserRound aria-hidden />
        Users
      </Link>
      <Link to="/notifications" className={itemClass} {...active}>
        <Bell aria-hidden />
        Notifications
      </Link>
      <Link to="/p/$project/settings" params={{ project }} className={itemClass} {...active}>
        <Settings2 aria-hidden />
        Settings
      </Link>
    </nav>
  );
}

import { Link } from "@tanstack/react-router";
import { Bell, Hash, KeyRound, LayoutDashboard, Newspaper, Settings2 } from "lucide-react";
import { useInFeed } from "../channels/channel-nav.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "./overlays.tsx";

const itemClass =
  "flex flex-1 flex-col items-center justify-center gap-0.5 text-2xs text-muted data-active:font-medium data-active:text-accent focus-visible:outline-offset-[-2px] [&>svg]:size-5";

/** The navigation bar of phones. */
export function BottomBar() {
  const project = useProjectSlug();
  const inFeed = useInFeed();
  const can = useCan();
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
      <Link to="/notifications" className={itemClass} {...active}>
        <Bell aria-hidden />
        Notifications
      </Link>
      {can("keys:manage") && (
        <Link to="/p/$project/keys" params={{ project }} className={itemClass} {...active}>
          <KeyRound aria-hidden />
          API keys
        </Link>
      )}
      <Link to="/p/$project/settings" params={{ project }} className={itemClass} {...active}>
        <Settings2 aria-hidden />
        Settings
      </Link>
    </nav>
  );
}

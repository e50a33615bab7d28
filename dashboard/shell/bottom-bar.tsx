import { Link } from "@tanstack/react-router";
import { Cable, Hash, LayoutDashboard, Newspaper, Settings2, UserRound } from "lucide-react";
import { useInFeed } from "../channels/channel-nav.tsx";
import { useConnectionPage } from "../connections/connection-nav.tsx";
import { useConnectionStates } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "./overlays.tsx";

const itemClass =
  "relative flex flex-1 flex-col items-center justify-center gap-0.5 text-2xs text-muted data-active:font-medium data-active:text-accent focus-visible:outline-offset-[-2px] [&>svg]:size-5";

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
      <Link to="/p/$project/users" params={{ project }} search={{}} className={itemClass} {...active}>
        <UserRound aria-hidden />
        Users
      </Link>
      <Link
        to="/p/$project/connections"
        params={{ project }}
        className={itemClass}
        data-active={useConnectionPage() !== null || undefined}
      >
        <Cable aria-hidden />
        Connections
        <Attention project={project} />
      </Link>
      <Link to="/p/$project/settings" params={{ project }} className={itemClass} {...active}>
        <Settings2 aria-hidden />
        Settings
      </Link>
    </nav>
  );
}

/** A dot if a connection fails, since words don't fit. */
function Attention({ project }: { project: string }) {
  const isUrgent = Object.values(useConnectionStates(project)).some((state) => state.isUrgent);
  if (!isUrgent) return null;
  return (
    <>
      <span aria-hidden className="absolute top-2 left-1/2 ml-2.5 size-2 rounded-full bg-danger" />
      <span className="sr-only">, something needs attention</span>
    </>
  );
}

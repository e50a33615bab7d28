import { useQuery } from "@tanstack/react-query";
import { Link, useMatches } from "@tanstack/react-router";
import {
  ChevronsUpDown,
  Hash,
  LayoutDashboard,
  type LucideIcon,
  Newspaper,
  Settings2,
  UserRound,
  Users,
} from "lucide-react";
import type { Sidebar as SidebarLists } from "../../server/schemas/view.ts";
import { useMe } from "../account/me.ts";
import { AlertNav } from "../alerts/alert-nav.tsx";
import { ChannelNav, useInFeed } from "../channels/channel-nav.tsx";
import { sidebarQuery } from "../channels/channels.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { Mark } from "../components/mark.tsx";
import { navItemClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { ConnectionNav } from "../connections/connection-nav.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "./overlays.tsx";
import { labelClass, RailIcon, railItemClass } from "./rail.tsx";

const ProjectMenu = lazyPart<MenuContentProps>(
  async () => (await import("../projects/project-menu.tsx")).default,
);
const AccountMenu = lazyPart<MenuContentProps>(
  async () => (await import("../account/account-menu.tsx")).default,
);

/** The left column: on a desktop with names and channels, on a tablet a rail of icons. */
export function Sidebar() {
  const { account } = useMe();
  return (
    <aside
      aria-label="Project and channels"
      className="hidden w-14 shrink-0 flex-col border-line border-r bg-canvas md:flex lg:w-60"
    >
      <div className="flex h-13 shrink-0 items-center px-2">
        <LazyMenu
          menu={ProjectMenu}
          className="flex h-9 w-full min-w-0 items-center gap-2.5 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
        >
          <ProjectName />
        </LazyMenu>
      </div>
      {/* Mounted on all screens, because it marks as read what is open. */}
      <div className="contents max-lg:hidden">
        <ChannelNav />
      </div>
      <ChannelRail />
      <nav
        aria-label="Project"
        className="flex flex-col gap-px border-line border-t p-2 md:max-lg:min-h-0 md:max-lg:overflow-y-auto"
      >
        <PageLink to="/p/$project/boards" icon={LayoutDashboard} also={["reports"]}>
          Boards
        </PageLink>
        <PageLink to="/p/$project/users" icon={UserRound}>
          Users
        </PageLink>
        <AlertNav canFold />
        <ConnectionNav canFold />
        <PageLink to="/p/$project/members" icon={Users}>
          Members
        </PageLink>
        <PageLink to="/p/$project/settings" icon={Settings2} also={["audit"]}>
          Project settings
        </PageLink>
      </nav>
      <div className="border-line border-t p-2">
        <LazyMenu
          menu={AccountMenu}
          className="flex h-10 w-full min-w-0 items-center gap-1.5 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
        >
          <span
            aria-hidden
            className="flex size-6 shrink-0 items-center justify-center rounded-full bg-pressed font-semibold text-muted text-xs uppercase"
          >
            {(account.name || account.email).slice(0, 1)}
          </span>
          <span className="hostile-line text-sm md:max-lg:sr-only">{account.name || account.email}</span>
        </LazyMenu>
      </div>
    </aside>
  );
}

type PageLinkProps = {
  to: `/p/$project/${"boards" | "users" | "members" | "settings"}`;
  icon: LucideIcon;
  /** Pages that are reached from this one, and have no entry of their own. */
  also?: readonly string[];
  children: string;
};

const noPages: readonly string[] = [];

function PageLink({ to, icon: Icon, also = noPages, children }: PageLinkProps) {
  const project = useProjectSlug();
  const isAlso = useMatches({
    select: (matches) => also.some((name) => matches.at(-1)?.routeId.endsWith(`/$project/${name}`)),
  });
  return (
    <Link
      to={to}
      params={{ project }}
      className={`${navItemClass} ${railItemClass}`}
      data-active={isAlso || undefined}
      activeProps={{ "data-active": true }}
      title={children}
    >
      <RailIcon icon={Icon} dot={false} />
      <span className={labelClass}>{children}</span>
    </Link>
  );
}

const hasUnread = ({ channels, views }: SidebarLists) =>
  [...channels, ...views].some(({ unread }) => (unread ?? 0) > 0);

/** The feed, and a button that opens the list of channels over the page. */
function ChannelRail() {
  const project = useProjectSlug();
  const inFeed = useInFeed();
  const { data: isUnread = false } = useQuery({ ...sidebarQuery(project), select: hasUnread });
  return (
    <nav aria-label="Feed" className="hidden flex-1 flex-col gap-px p-2 pt-1 md:max-lg:flex">
      <Link
        to="/p/$project"
        params={{ project }}
        search={{}}
        className={`${navItemClass} ${railItemClass}`}
        data-active={inFeed || undefined}
        title="All events"
      >
        <RailIcon icon={Newspaper} dot={false} />
        <span className={labelClass}>All events</span>
      </Link>
      <button
        type="button"
        aria-haspopup="dialog"
        className={`${navItemClass} ${railItemClass}`}
        title="Channels"
        onClick={() => openOverlay("channels")}
      >
        <RailIcon icon={Hash} dot={isUnread && "bg-accent"} />
        <span className={labelClass}>{isUnread ? "Channels, with unread events" : "Channels"}</span>
      </button>
    </nav>
  );
}

function ProjectName() {
  const slug = useProjectSlug();
  const { projects } = useMe();
  return (
    <>
      <Mark className="h-5 w-6.5 shrink-0 text-accent" />
      <span className="hostile-line flex-1 font-semibold text-base md:max-lg:sr-only">
        {projects.find((each) => each.slug === slug)?.name ?? "Tidings"}
      </span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-faint md:max-lg:hidden" />
    </>
  );
}

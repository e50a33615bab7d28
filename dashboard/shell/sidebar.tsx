import { useQuery } from "@tanstack/react-query";
import { Link, useMatches } from "@tanstack/react-router";
import {
  Bell,
  ChevronsUpDown,
  CircleSlash,
  Hash,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Newspaper,
  Settings2,
  UserRound,
  Users,
} from "lucide-react";
import type { Sidebar as SidebarLists } from "../../server/wire/view.ts";
import { useMe } from "../account/me.ts";
import { ChannelNav, useInFeed } from "../channels/channel-nav.tsx";
import { sidebarQuery } from "../channels/channels.ts";
import { shortCount } from "../components/counts.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { Mark } from "../components/mark.tsx";
import { navItemClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { useRejectedCount } from "../rejected/rejected-count.ts";
import { openOverlay } from "./overlays.tsx";

const ProjectMenu = lazyPart<MenuContentProps>(
  async () => (await import("../projects/project-menu.tsx")).default,
);
const AccountMenu = lazyPart<MenuContentProps>(
  async () => (await import("../account/account-menu.tsx")).default,
);

/** The left column: on a desktop with names and channels, on a tablet a rail of icons. */
export function Sidebar() {
  const { account } = useMe();
  const can = useCan();
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
        <PageLink to="/p/$project/boards" icon={LayoutDashboard}>
          Boards
        </PageLink>
        <PageLink to="/p/$project/users" icon={UserRound}>
          Users
        </PageLink>
        {can("keys:manage") && (
          <PageLink to="/p/$project/keys" icon={KeyRound}>
            API keys
          </PageLink>
        )}
        <PageLink to="/p/$project/members" icon={Users}>
          Members
        </PageLink>
        <PageLink to="/p/$project/rules" icon={Bell} also={["destinations", "deliveries"]}>
          Rules
        </PageLink>
        <PageLink to="/p/$project/rejected" icon={CircleSlash} count={useRejectedCount(useProjectSlug())}>
          Rejected events
        </PageLink>
        <PageLink to="/p/$project/settings" icon={Settings2} also={["webhooks", "audit"]}>
          Settings
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
  to: `/p/$project/${"boards" | "users" | "keys" | "members" | "rules" | "rejected" | "settings"}`;
  icon: LucideIcon;
  /** How many there are to look at. */
  count?: number;
  /** Pages that are reached from this one, and have no entry of their own. */
  also?: readonly string[];
  children: string;
};

const noPages: readonly string[] = [];

function PageLink({ to, icon: Icon, count = 0, also = noPages, children }: PageLinkProps) {
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
      title={count > 0 ? `${children}: ${count.toLocaleString("en")} to fix or discard` : children}
    >
      <RailIcon icon={Icon} dot={count > 0 && "bg-danger"} />
      <span className={labelClass}>{children}</span>
      {count > 0 && <span className="text-danger text-xs md:max-lg:sr-only">{shortCount(count)}</span>}
    </Link>
  );
}

const labelClass = "flex-1 md:max-lg:sr-only";
/** As large as fingers need, unless the window is low. */
const railItemClass = "md:max-lg:[@media(min-height:640px)]:h-10!";

/** An icon of the sidebar. On the rail, which has no room for a count, a dot says that there is one. */
function RailIcon({ icon: Icon, dot }: { icon: LucideIcon; dot: string | false }) {
  return (
    <span className="relative mx-0.5 shrink-0 md:max-lg:mx-1">
      <Icon aria-hidden className="size-4 text-faint md:max-lg:size-4.5" />
      {dot && (
        <span
          aria-hidden
          className={`absolute -top-0.5 -right-1 hidden size-2 rounded-full ring-2 ring-canvas md:max-lg:block ${dot}`}
        />
      )}
    </span>
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

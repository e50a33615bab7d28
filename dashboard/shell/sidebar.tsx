import { Link, useMatches } from "@tanstack/react-router";
import {
  Bell,
  ChevronsUpDown,
  CircleSlash,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Settings2,
  UserRound,
  Users,
} from "lucide-react";
import { useMe } from "../account/me.ts";
import { ChannelNav } from "../channels/channel-nav.tsx";
import { shortCount } from "../components/counts.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { formatNumber } from "../components/locale.ts";
import { Mark } from "../components/mark.tsx";
import { navItemClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { useRejectedCount } from "../rejected/rejected-count.ts";

const ProjectMenu = lazyPart<MenuContentProps>(
  async () => (await import("../projects/project-menu.tsx")).default,
);
const AccountMenu = lazyPart<MenuContentProps>(
  async () => (await import("../account/account-menu.tsx")).default,
);

/** The left column on a desktop. */
export function Sidebar() {
  const { account } = useMe();
  const can = useCan();
  return (
    <aside
      aria-label="Project and channels"
      className="hidden w-60 shrink-0 flex-col border-line border-r bg-canvas md:flex"
    >
      <div className="flex h-13 shrink-0 items-center px-2">
        <LazyMenu
          menu={ProjectMenu}
          className="flex h-9 w-full min-w-0 items-center gap-2.5 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
        >
          <ProjectName />
        </LazyMenu>
      </div>
      <ChannelNav />
      <nav aria-label="Project" className="flex flex-col gap-px border-line border-t p-2">
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
          <span className="hostile-line text-sm">{account.name || account.email}</span>
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
      className={navItemClass}
      data-active={isAlso || undefined}
      activeProps={{ "data-active": true }}
    >
      <Icon aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
      <span className="flex-1">{children}</span>
      {count > 0 && (
        <span className="text-danger text-xs" title={`${formatNumber(count)} to fix or discard`}>
          {shortCount(count)}
        </span>
      )}
    </Link>
  );
}

function ProjectName() {
  const slug = useProjectSlug();
  const { projects } = useMe();
  return (
    <>
      <Mark className="h-5 w-6.5 shrink-0 text-accent" />
      <span className="hostile-line flex-1 font-semibold text-base">
        {projects.find((each) => each.slug === slug)?.name ?? "Tidings"}
      </span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-faint" />
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Filter, MoreHorizontal } from "lucide-react";
import type { SidebarView } from "../../server/schemas/view.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { navLink } from "../channels/roving.ts";
import { Unread } from "../channels/unread-count.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { navItemClass, navMenuClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { useCan } from "../projects/can.ts";
import { parametersOf } from "./views.ts";

const ViewMenu = lazyPart<MenuContentProps & { view: SidebarView }>(
  async () => (await import("./view-menu.tsx")).default,
);

type ViewNavProps = {
  project: string;
  openId: string | undefined;
  /** The ID of the view that Tab reaches. */
  stop: string | undefined;
  onNavigate?: () => void;
};

/** The saved views in the sidebar: the project's, then one's own. */
export function ViewNav({ project, openId, stop, onNavigate }: ViewNavProps) {
  const { data } = useQuery(sidebarQuery(project));
  const mayShare = useCan()("views:share");
  if (!data || data.views.length === 0) return null;
  return (
    <>
      <h2 className="mt-3 flex h-8 shrink-0 items-center pl-2 font-medium text-faint text-xs">Views</h2>
      {data.views.map((view) => {
        const unread = view.id === openId ? 0 : (view.unread ?? 0);
        return (
          <div
            key={view.id}
            className="group relative shrink-0"
            {...((mayShare || !view.shared) && {
              "data-arrange": view.shared ? "shared" : "own",
              "data-id": view.id,
            })}
          >
            <Link
              to="/p/$project"
              params={{ project }}
              search={parametersOf(view)}
              className={`${navItemClass} md:group-hover:pr-9 max-md:pr-10`}
              draggable={false}
              tabIndex={view.id === stop ? 0 : -1}
              {...navLink("views", view.id)}
              data-active={view.id === openId || undefined}
              aria-current={view.id === openId ? "page" : undefined}
              title={view.shared ? "For all members" : undefined}
              onClick={onNavigate}
            >
              <Filter aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
              <span className={`hostile-line flex-1 ${unread > 0 ? "font-semibold text-ink" : ""}`}>
                {view.name}
              </span>
              {unread > 0 && <Unread value={unread} />}
            </Link>
            <LazyMenu
              menu={ViewMenu}
              props={{ view }}
              label={`Actions for ${view.name}`}
              tabIndex={-1}
              className={navMenuClass}
            >
              <MoreHorizontal aria-hidden className="size-4" />
            </LazyMenu>
          </div>
        );
      })}
    </>
  );
}

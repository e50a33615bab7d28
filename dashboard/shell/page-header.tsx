import { clsx } from "clsx";
import { Search } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { useMe } from "../account/me.ts";
import { unreadText } from "../components/counts.ts";
import { Mark } from "../components/mark.tsx";
import { Bell } from "../notifications/bell.tsx";
import { openOverlay } from "./overlays.tsx";

type PageHeaderProps = {
  title: string;
  /** The browser tab's title, if it differs. */
  tabTitle?: string;
  icon?: ReactNode;
  /** Shown next to the title. */
  titleActions?: ReactNode;
  children?: ReactNode;
  className?: string;
};

/** The bar above each page: title on the left, search and notifications on the right. */
export function PageHeader({ title, tabTitle, icon, titleActions, children, className }: PageHeaderProps) {
  usePageTitle(tabTitle ?? title);
  return (
    <header
      className={clsx("flex h-13 shrink-0 items-center gap-3 border-line border-b px-4 md:px-5", className)}
    >
      <Mark className="h-5 w-6.5 shrink-0 text-accent md:hidden" />
      <div className="flex min-w-0 flex-1 items-center gap-2.5">
        {icon}
        <h1 className="hostile-line font-semibold text-lg">{title}</h1>
        {titleActions}
      </div>
      {children}
      <button
        type="button"
        onClick={() => openOverlay("palette")}
        aria-keyshortcuts="Control+K"
        className="flex h-8 shrink-0 items-center gap-2 rounded-md text-muted text-sm hover:text-ink max-md:size-10 max-md:justify-center md:border md:border-line-strong md:bg-raised md:pr-1.5 md:pl-2.5 md:hover:bg-hover"
      >
        <Search aria-hidden className="size-4" />
        <span className="max-md:sr-only md:pr-6">Go to…</span>
        <kbd
          aria-hidden
          className="hidden rounded border border-line-strong px-1 font-sans text-2xs leading-4 md:inline"
        >
          Ctrl K
        </kbd>
      </button>
      <Bell />
    </header>
  );
}

/** Sets the tab's title, with the count of unread notifications in front. */
function usePageTitle(title: string): void {
  const { unread } = useMe();
  useEffect(() => {
    showBadge(unread);
    document.title = `${unread > 0 ? `(${unreadText(unread)}) ` : ""}${title} · Tidings`;
  }, [title, unread]);
}

/** The count on the icon of the installed app. Browsers without it, and pages in a tab, ignore the call. */
function showBadge(unread: number): void {
  void navigator.setAppBadge?.(unread).catch(() => {});
}

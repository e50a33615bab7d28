import { useEffect } from "react";
import { useMe } from "../account/me.ts";

/** Sets the tab's title, with the count of unread notifications in front. */
export function usePageTitle(title: string): void {
  const { unread } = useMe();
  useEffect(() => {
    document.title = `${unread > 0 ? `(${unread > 99 ? "99+" : unread}) ` : ""}${title} · Tidings`;
  }, [title, unread]);
}

import { useSyncExternalStore } from "react";
import { session } from "../api.ts";
import { retryNow } from "../live/connection.ts";
import { queries } from "../queries.ts";
import { onTabMessage, tellTabs } from "../tabs.ts";
import { meQuery } from "./me.ts";

// A session that ends while the dashboard is open: the password is asked for in place, and what was under way goes on.

type Asking = { isRenewed: Promise<boolean>; answer: (isRenewed: boolean) => void };

let asking: Asking | null = null;
let isSigningOut = false;
const listeners = new Set<() => void>();

session.renew = async () => {
  // Before the first page is loaded, its route sends to the sign-in page.
  if (isSigningOut || !queries.getQueryData(meQuery.queryKey)) return false;
  if (!asking) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    asking = { isRenewed: promise, answer: resolve };
    for (const listener of listeners) listener();
  }
  return asking.isRenewed;
};

function settle(isRenewed: boolean) {
  asking?.answer(isRenewed);
  asking = null;
  for (const listener of listeners) listener();
  if (isRenewed) retryNow();
}

export function sessionRenewed(): void {
  settle(true);
  tellTabs({ type: "signed-in" });
}

onTabMessage((message, isOwn) => {
  if (message.type !== "signed-in" || isOwn || !asking) return;
  const before = queries.getQueryData(meQuery.queryKey);
  settle(true);
  void queries.fetchQuery({ ...meQuery, staleTime: 0 }).then((me) => {
    if (me.account.id !== before?.account.id) location.reload();
  });
});

/** The page that is left asks for nothing more. */
export function beginSigningOut(isBegun: boolean): void {
  isSigningOut = isBegun;
}

export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asking !== null,
  );
}

import { useSyncExternalStore } from "react";
import { session } from "../api.ts";
import { retryNow } from "../live/connection.ts";
import { queries } from "../queries.ts";
import { broadcastToTabs, onTabMessage } from "../tabs.ts";
import { meQuery } from "./me.ts";

// Handles a session that ends while the dashboard is open: asks for the password in place and resumes pending requests.

type RenewalPrompt = { outcome: Promise<boolean>; resolve: (renewed: boolean) => void };

let prompt: RenewalPrompt | null = null;
let isSigningOut = false;
const listeners = new Set<() => void>();

session.renew = async () => {
  // Before the first page has loaded, its route redirects to the sign-in page instead.
  if (isSigningOut || !queries.getQueryData(meQuery.queryKey)) return false;
  if (!prompt) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    prompt = { outcome: promise, resolve };
    for (const listener of listeners) listener();
  }
  return prompt.outcome;
};

function finishPrompt(renewed: boolean) {
  prompt?.resolve(renewed);
  prompt = null;
  for (const listener of listeners) listener();
  if (renewed) retryNow();
}

export function sessionRenewed(): void {
  finishPrompt(true);
  broadcastToTabs({ type: "signed-in" });
}

onTabMessage((message, isOwn) => {
  if (message.type !== "signed-in" || isOwn || !prompt) return;
  const before = queries.getQueryData(meQuery.queryKey);
  finishPrompt(true);
  void queries.fetchQuery({ ...meQuery, staleTime: 0 }).then((me) => {
    if (me.account.id !== before?.account.id) location.reload();
  });
});

/** While signing out, requests of the page being left must not ask for the password. */
export function beginSigningOut(signingOut: boolean): void {
  isSigningOut = signingOut;
}

export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => prompt !== null,
  );
}

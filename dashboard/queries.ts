import { MutationCache, QueryClient, type QueryKey } from "@tanstack/react-query";
import { meQuery } from "./account/me.ts";
import { ApiError, isTemporary } from "./api.ts";
import { broadcastToTabs, onTabMessage } from "./tabs.ts";

export const queries = new QueryClient({
  mutationCache: new MutationCache({
    // The role may just have changed: things that it no longer allows must disappear.
    onError(error) {
      if (error instanceof ApiError && error.status === 403)
        void queries.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A rejected request would be rejected again; retry only temporary failures.
      retry: (count, error) => count < 2 && isTemporary(error),
      // A server on the same network is reachable without the internet.
      networkMode: "always",
      refetchOnReconnect: true,
    },
    mutations: { networkMode: "always" },
  },
});

/** Refetches what has changed, in this tab and the others. Resolves when this tab has the response. */
export async function refresh(...keys: QueryKey[]): Promise<void> {
  const invalidated = keys.map((queryKey) => queries.invalidateQueries({ queryKey }));
  broadcastToTabs({ type: "changed", keys });
  await Promise.all(invalidated);
}

onTabMessage((message, isOwn) => {
  if (message.type !== "changed" || isOwn) return;
  for (const queryKey of message.keys) void queries.invalidateQueries({ queryKey });
});

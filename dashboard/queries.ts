import { QueryClient, type QueryKey } from "@tanstack/react-query";
import { isTemporary } from "./api.ts";
import { onTabMessage, tellTabs } from "./tabs.ts";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the server rejects it will reject again; what did not arrive is worth a second try.
      retry: (count, error) => count < 2 && isTemporary(error),
      // A server on the same network is reachable without the internet.
      networkMode: "always",
      refetchOnReconnect: true,
    },
    mutations: { networkMode: "always" },
  },
});

/** Asks again for what has changed, in this tab and in the others. Resolves when this tab has the answer. */
export async function refresh(...keys: QueryKey[]): Promise<void> {
  const invalidated = keys.map((queryKey) => queries.invalidateQueries({ queryKey }));
  tellTabs({ type: "changed", keys });
  await Promise.all(invalidated);
}

onTabMessage((message, isOwn) => {
  if (message.type !== "changed" || isOwn) return;
  for (const queryKey of message.keys) void queries.invalidateQueries({ queryKey });
});

import { type QueryClient, queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import type { Me } from "../../server/schemas/account.ts";
import { api } from "../api.ts";

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => api<Me>("/api/me"),
  staleTime: 60_000,
});

/** The signed-in account. Only below the signed-in layout, which loads it first. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

export function setUnread(queries: QueryClient, unread: number): void {
  queries.setQueryData(meQuery.queryKey, (me) => me && { ...me, unread });
}

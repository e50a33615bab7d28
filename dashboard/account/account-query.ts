import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import type { AccountResponse, SignInOptions } from "../../server/schemas/account.ts";
import type { SessionInfo } from "../../server/schemas/session.ts";
import { api } from "../api.ts";

export type AccountDetails = AccountResponse["account"];

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: async () => (await api<AccountResponse>("/api/account")).account,
});

/** The signed-in account, below the account page, which loads it first. */
export function useAccount(): AccountDetails {
  return useSuspenseQuery(accountQuery).data;
}

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: async () => (await api<{ sessions: SessionInfo[] }>("/api/sessions")).sessions,
});

/** The ways to sign in. */
export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in-options"],
  queryFn: () => api<SignInOptions>("/api/sign-in"),
  staleTime: 60_000,
});

import { type QueryKey, queryOptions, useQuery } from "@tanstack/react-query";
import type { ConnectionSummary } from "../../server/schemas/connections.ts";
import { api } from "../api.ts";
import { formatNumber } from "../components/locale.ts";
import { refresh } from "../queries.ts";

/** The pages of a project's connections: first incoming ones, then outgoing ones. */
export const connectionPages = ["keys", "webhooks", "rejected", "destinations", "deliveries"] as const;
export type ConnectionPage = (typeof connectionPages)[number];

export const connectionTitles: Record<ConnectionPage, string> = {
  keys: "API keys",
  webhooks: "Webhooks",
  rejected: "Rejected events",
  destinations: "Destinations",
  deliveries: "Deliveries",
};

/** Something that needs attention, in a word or two: "2 expired". */
export type ConnectionState = { count: number; text: string; isUrgent: boolean };

export function connectionsQuery(project: string) {
  return queryOptions({
    queryKey: ["connections", project],
    enabled: project !== "",
    queryFn: () => api<ConnectionSummary>("/api/connections", { query: { project } }),
    // The stream doesn't report these changes.
    refetchInterval: 30_000,
  });
}

/** Refetches what has changed, and the states of connections with it. */
export function refreshConnections(project: string, ...keys: QueryKey[]): Promise<void> {
  return refresh(...keys, connectionsQuery(project).queryKey);
}

/** The state of each page of connections that needs attention. */
export function useConnectionStates(project: string): Partial<Record<ConnectionPage, ConnectionState>> {
  const { data } = useQuery(connectionsQuery(project));
  return data ? statesOf(data) : {};
}

export function statesOf({
  keys,
  webhooks,
  rejected,
  destinations,
  deliveries,
}: ConnectionSummary): Partial<Record<ConnectionPage, ConnectionState>> {
  const urgent = (count: number, word: string) => stateOf(count, word, true);
  const found = {
    keys: keys && (urgent(keys.expired, "expired") ?? stateOf(keys.expiring, "expiring", false)),
    webhooks: urgent(webhooks.rejecting, "failing") ?? urgent(webhooks.withoutSecret, "incomplete"),
    rejected: urgent(rejected, "to fix"),
    destinations: urgent(destinations.failing, "failing"),
    deliveries: urgent(deliveries.dead, "failed"),
  };
  return Object.fromEntries(Object.entries(found).filter(([, state]) => state));
}

function stateOf(count: number, word: string, isUrgent: boolean): ConnectionState | null {
  return count > 0 ? { count, text: `${formatNumber(count)} ${word}`, isUrgent } : null;
}

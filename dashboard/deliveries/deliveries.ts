import { infiniteQueryOptions, useMutation } from "@tanstack/react-query";
import type { DeliveryPage } from "../../server/schemas/delivery.ts";
import { api, errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { refreshConnections } from "../connections/connections.ts";
import { toast } from "../shell/toasts.tsx";
import { type TimeFilter, timeIn, timeQuery } from "../time-range/time-range.ts";

/** The list's filters, as in the URL. `to` is a destination there, so a range ends with `until`. */
export type DeliveryFilter = {
  state?: string;
  /** ID of a project's destination, or a kind of members' destinations. */
  to?: string;
  rule?: string;
  account?: string;
  channel?: string;
  range?: string;
  from?: string;
  until?: string;
};

const filterNames = ["state", "to", "rule", "account", "channel", "range", "from", "until"] as const;

/** The time of a filter. */
export function deliveryTimeOf({ range, from, until }: DeliveryFilter): TimeFilter {
  return timeIn({ range, from, to: until });
}

/** A filter with another time. */
export function withTime(
  { range: _range, from: _from, until: _until, ...filter }: DeliveryFilter,
  { range, from, to }: TimeFilter,
): DeliveryFilter {
  return { ...filter, ...(range && { range }), ...(from && { from }), ...(to && { until: to }) };
}

export const memberKinds: Record<string, string> = {
  dashboard: "Dashboards of members",
  browser: "Browsers of members",
  email: "Email to members",
};

export function deliveryFilterIn(search: Record<string, unknown>): DeliveryFilter {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = search[name];
      return typeof value === "string" && value !== "" ? [[name, value]] : [];
    }),
  );
}

/** The filter as the server takes it, without the state. */
function parametersOf(filter: DeliveryFilter): Record<string, string> {
  const { to, rule, account, channel } = filter;
  const parameters = {
    rule,
    account,
    channel,
    ...(to !== undefined && (Object.hasOwn(memberKinds, to) ? { kind: to } : { destination: to })),
    ...timeQuery(deliveryTimeOf(filter), Date.now()),
  };
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

const deliveriesKey = (project: string) => ["project-deliveries", project] as const;

export function projectDeliveriesQuery(project: string, filter: DeliveryFilter) {
  return infiniteQueryOptions({
    queryKey: [...deliveriesKey(project), "list", filter],
    queryFn: ({ pageParam, signal }) =>
      api<DeliveryPage>("/api/deliveries", {
        query: { project, ...parametersOf(filter), state: filter.state, cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // The stream does not report deliveries.
    refetchInterval: 10_000,
  });
}

export function useRetryDelivery(project: string) {
  return useMutation({
    mutationFn: (id: string) => api(`/api/deliveries/${id}/retry`, { method: "POST", query: { project } }),
    onSettled: () => refreshConnections(project, deliveriesKey(project)),
    onError: (error) =>
      toast({ title: "The delivery wasn't retried", description: errorMessage(error), failed: true }),
  });
}

/** Retries the failed deliveries of a filter. */
export function useRetryAll(project: string, filter: DeliveryFilter, onDone: () => void) {
  return useMutation({
    mutationFn: () =>
      api<{ ok: true; retried: number }>("/api/deliveries/retry", {
        method: "POST",
        query: { project },
        body: parametersOf(filter),
      }),
    onSuccess({ retried }) {
      toast({
        title: retried === 0 ? "Nothing to retry" : `Retrying ${countOf(retried, "delivery", "deliveries")}`,
      });
      onDone();
      return refreshConnections(project, deliveriesKey(project));
    },
  });
}

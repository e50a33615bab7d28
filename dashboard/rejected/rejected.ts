import { infiniteQueryOptions, useMutation } from "@tanstack/react-query";
import type { Problem } from "../../server/core/problems.ts";
import type { EventFix } from "../../server/event/event-fix.ts";
import type {
  RejectedEvent,
  RejectedEventList,
  RejectedGroup,
  RejectedReplayResponse,
} from "../../server/schemas/rejected-event.ts";
import { api, errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { refreshConnections } from "../connections/connections.ts";
import { toast } from "../shell/toasts.tsx";

const rejectedKey = (project: string) => ["rejected", project] as const;

/** A group as the server's filters name it. */
function filterOf({ reason, key }: RejectedGroup): { reason: string; key: string } {
  return { reason, key: key?.id ?? "none" };
}

/** Identifies a group on the page. */
export function idOfGroup(group: RejectedGroup): string {
  const { reason, key } = filterOf(group);
  return `${key} ${reason}`;
}

/** The events of a group, newest first. */
export function rejectedQuery(project: string, group: RejectedGroup) {
  const filter = filterOf(group);
  return infiniteQueryOptions({
    queryKey: [...rejectedKey(project), "list", filter],
    queryFn: ({ pageParam, signal }) =>
      api<RejectedEventList>("/api/events/rejected", {
        query: { project, ...filter, limit: pageParam === null ? "5" : "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** Resends a rejected event after it was fixed. */
export function useResend(project: string) {
  return useMutation({
    mutationFn: ({ id, event }: { id: string; event: unknown }) =>
      api(`/api/events/rejected/${id}/replay`, { method: "POST", query: { project }, body: event }),
    onSuccess: () => refreshConnections(project, rejectedKey(project)),
  });
}

export function useDiscard(project: string) {
  return useMutation({
    mutationFn: (id: string) => api(`/api/events/rejected/${id}`, { method: "DELETE", query: { project } }),
    onSuccess: () => refreshConnections(project, rejectedKey(project)),
    onError: (error) =>
      toast({ title: "The event wasn't discarded", description: errorMessage(error), failed: true }),
  });
}

/** Discards the events of a group that were shown. */
export function useDiscardGroup(project: string, group: RejectedGroup, onDone: () => void) {
  return useMutation({
    mutationFn: () =>
      api<{ ok: true; discarded: number }>("/api/events/rejected/discard", {
        method: "POST",
        query: { project },
        body: { ...filterOf(group), upTo: group.newest },
      }),
    onSuccess({ discarded }) {
      toast({ title: `Discarded ${countOf(discarded, "event")}` });
      onDone();
      return refreshConnections(project, rejectedKey(project));
    },
  });
}

export type Replay = { fixes: EventFix[]; keepTime: boolean };
/** The results so far, and the first reasons why events are still invalid. */
export type ReplayProgress = Pick<RejectedReplayResponse, "resent" | "failed" | "failures">;

const nothing: ReplayProgress = { resent: 0, failed: 0, failures: [] };

/** Resends the events of a group that were shown, request by request, or only checks them. */
async function replayGroup(
  project: string,
  group: RejectedGroup,
  body: Replay & { dryRun: boolean },
  onProgress?: (progress: ReplayProgress) => void,
): Promise<ReplayProgress> {
  let progress = nothing;
  for (let after: string | undefined; ; ) {
    const step: RejectedReplayResponse = await api<RejectedReplayResponse>("/api/events/rejected/replay", {
      method: "POST",
      query: { project },
      body: { ...filterOf(group), upTo: group.newest, ...body, ...(after !== undefined && { after }) },
    });
    progress = {
      resent: progress.resent + step.resent,
      failed: progress.failed + step.failed,
      failures: [...progress.failures, ...step.failures].slice(0, 3),
    };
    onProgress?.(progress);
    if (step.next === null) return progress;
    after = step.next;
  }
}

export function checkGroup(project: string, group: RejectedGroup, replay: Replay): Promise<ReplayProgress> {
  return replayGroup(project, group, { ...replay, dryRun: true });
}

/** @param onProgress - called after each request */
export function useReplayGroup(
  project: string,
  group: RejectedGroup,
  onProgress: (progress: ReplayProgress) => void,
  onDone: (progress: ReplayProgress) => void,
) {
  return useMutation({
    mutationFn: (replay: Replay) => replayGroup(project, group, { ...replay, dryRun: false }, onProgress),
    onSuccess: onDone,
    // Some were resent, even if the rest failed.
    onSettled: () => refreshConnections(project, rejectedKey(project)),
  });
}

/** Everything that is wrong with an event, without duplicates. */
export function reasonsIn({ detail, errors }: Pick<Problem, "detail" | "errors">): string[] {
  return errors?.length ? [...new Set(errors.map((each) => each.detail))] : [detail];
}

/** A rejected event as JSON; undefined if it isn't. */
export function parsedBody({ body }: Pick<RejectedEvent, "body">): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

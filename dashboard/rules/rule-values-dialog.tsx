import { infiniteQueryOptions, useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Rule, RuleValue } from "../../server/schemas/rule.ts";
import { api, errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/dialog.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

type ValuePage = { ok: true; values: RuleValue[]; nextCursor: string | null; count: number };

function valuesQuery(project: string, rule: string) {
  return infiniteQueryOptions({
    queryKey: ["rule-values", project, rule],
    queryFn: ({ pageParam }) =>
      api<ValuePage>(`/api/rules/${rule}/values`, { query: { project, cursor: pageParam ?? undefined } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** The values that a rule follows by themselves. */
export function RuleValuesDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const query = useInfiniteQuery(valuesQuery(useProjectSlug(), rule.id));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  const values = data?.pages.flatMap((page) => page.values);
  const count = data?.pages.at(0)?.count ?? 0;
  return (
    <Dialog open wide dismissible onOpenChange={close} title={`Values of ${rule.name}`}>
      {error && !values ? (
        <ErrorState title="The values couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !values ? (
        <Skeleton className="h-24 rounded-lg" />
      ) : (
        <div className="flex flex-col gap-3">
          <p className="text-muted text-sm">{countText(count)}</p>
          {values.length > 0 && (
            <ul aria-label="Values" className="divide-y divide-line rounded-lg border border-line">
              {values.map((value) => (
                <ValueItem key={value.value} rule={rule} value={value} />
              ))}
            </ul>
          )}
          {hasNextPage && (
            <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Show more
            </Button>
          )}
        </div>
      )}
    </Dialog>
  );
}

function countText(count: number): string {
  if (count === 0) return "None at the moment. A value joins with its first event.";
  if (count < limits.ruleValues) return `The rule follows ${countOf(count, "value")}.`;
  return `The rule follows ${countOf(count, "value")}, which is the limit. New values are left out until some are forgotten.`;
}

function ValueItem({
  rule,
  value: { value, seenAt, silentSince, dueAt, alert },
}: {
  rule: Rule;
  value: RuleValue;
}) {
  const project = useProjectSlug();
  const forget = useMutation({
    mutationFn: () =>
      api(`/api/rules/${rule.id}/forget`, { method: "POST", query: { project }, body: { value } }),
    onSettled: () => refresh(valuesQuery(project, rule.id).queryKey, ["alerts", project]),
    onError: (error) =>
      toast({ title: `${value} wasn't forgotten`, description: errorMessage(error), failed: true }),
  });
  const canManage = useCan()("rules:manage");
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      <div className="min-w-0 flex-1">
        <p className="hostile font-medium text-sm">
          {value}
          {alert !== null && (
            <span className="ml-2 rounded bg-danger-soft px-1.5 py-0.5 font-medium text-danger text-xs">
              {silentSince === null ? "Alert" : "Silent"}
            </span>
          )}
        </p>
        <p className="text-faint text-xs">
          Last event <RelativeTime at={seenAt} form="long" />
          {dueAt !== null && (
            <>
              {" · due "}
              <time dateTime={dueAt}>{formatDate(dueAt, "soon")}</time>
            </>
          )}
        </p>
      </div>
      {canManage && (
        <Button busy={forget.isPending} onClick={() => forget.mutate()} aria-label={`Forget ${value}`}>
          Forget
        </Button>
      )}
    </li>
  );
}

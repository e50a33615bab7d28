import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { clsx } from "clsx";
import { ChartLine, ListTree, Pencil, Power, Send, Trash2 } from "lucide-react";
import type { Rule } from "../../server/schemas/rule.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { membersQuery } from "../members/members.ts";
import { schedulesQuery } from "../on-call/on-call.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { Panel } from "../settings/group.tsx";
import { toast } from "../shell/toasts.tsx";
import { RuleSentence } from "./rule-sentence.tsx";
import { rulesQuery } from "./rules.ts";

type Actions = Record<"edit" | "remove" | "showValues", (rule: Rule) => void>;

export function RuleList({ rules, ...actions }: Actions & { rules: Rule[] }) {
  const project = useProjectSlug();
  const { data: members } = useQuery(membersQuery(project));
  const { data: schedules } = useQuery(schedulesQuery(project));
  const { data: destinations } = useQuery(projectDestinationsQuery(project));
  const can = useCan();
  return (
    <Panel>
      <ul aria-label="Rules" className="divide-y divide-line">
        {rules.map((rule) => (
          <li key={rule.id} className="flex min-h-16 items-center gap-3 px-4 py-2.5">
            <div className="min-w-0 flex-1">
              <p className={clsx("hostile font-medium", !rule.enabled && "text-muted")}>
                {rule.when.type === "metric" ? (
                  <Link
                    to="/p/$project/rules/$rule"
                    params={{ project, rule: rule.id }}
                    className="hover:underline"
                  >
                    {rule.name}
                  </Link>
                ) : (
                  rule.name
                )}
                {!rule.enabled && <Badge className="bg-pressed text-muted">Off</Badge>}
                {rule.urgent && <Badge className="bg-accent-soft text-accent">Urgent</Badge>}
                {rule.reading?.state === "firing" && (
                  <Badge className="bg-danger-soft text-danger">Firing</Badge>
                )}
                {rule.reading?.failure && <Badge className="bg-danger-soft text-danger">Can't be read</Badge>}
                {rule.silentSince !== null && rule.enabled && (
                  <Badge className="bg-danger-soft text-danger">Silent</Badge>
                )}
              </p>
              {members && schedules && destinations && (
                <p className="hostile mt-0.5 text-muted text-sm">
                  <RuleSentence rule={rule} {...{ members, schedules, destinations }} />
                </p>
              )}
              {rule.enabled && <RuleTimes rule={rule} />}
            </div>
            {can("rules:manage") && <RuleActions rule={rule} {...actions} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** When the rule last notified, and when it notifies next unless an event comes. */
function RuleTimes({ rule: { firedAt, dueAt } }: { rule: Rule }) {
  if (firedAt === null && dueAt === null) return null;
  return (
    <p className="mt-0.5 text-faint text-xs">
      {firedAt !== null && (
        <>
          Last notified <RelativeTime at={firedAt} form="long" />
        </>
      )}
      {firedAt !== null && dueAt !== null && " · "}
      {dueAt !== null && (
        <>
          {firedAt === null ? "Due" : "due"} <time dateTime={dueAt}>{formatDate(dueAt, "soon")}</time>
        </>
      )}
    </p>
  );
}

function Badge({ className, children }: { className: string; children: string }) {
  return (
    <span className={clsx("ml-2 rounded px-1.5 py-0.5 font-medium text-xs", className)}>{children}</span>
  );
}

function RuleActions({ rule, edit, remove, showValues }: Actions & { rule: Rule }) {
  const project = useProjectSlug();
  const { id, name, enabled } = rule;
  const toggle = useMutation({
    mutationFn: () =>
      api(`/api/rules/${id}`, { method: "PATCH", query: { project }, body: { enabled: !enabled } }),
    onSuccess: () => refresh(rulesQuery(project).queryKey),
    onError: (error) =>
      toast({
        title: `The rule wasn't turned ${enabled ? "off" : "on"}`,
        description: errorMessage(error),
        failed: true,
      }),
  });
  const test = useMutation({
    mutationFn: () =>
      api<{ deliveries: number }>(`/api/rules/${id}/test`, { method: "POST", query: { project } }),
    onSuccess: ({ deliveries }) =>
      toast({
        title: deliveries === 0 ? "The rule reaches nobody" : `Sent a test of ${name}`,
        description:
          deliveries === 0
            ? "Its members have no destination that is on, and neither has it."
            : `Deliveries: ${formatNumber(deliveries)}. The page "Deliveries" has their results.`,
        failed: deliveries === 0,
      }),
    onError: (error) =>
      toast({ title: "The test wasn't sent", description: errorMessage(error), failed: true }),
  });
  const navigate = useNavigate();
  return (
    <RowMenu
      name={name}
      actions={[
        ...(rule.when.type === "metric"
          ? [
              {
                label: "Show",
                icon: ChartLine,
                onSelect: () =>
                  void navigate({ to: "/p/$project/rules/$rule", params: { project, rule: id } }),
              },
            ]
          : []),
        { label: "Edit…", icon: Pencil, onSelect: () => edit(rule) },
        ...(rule.forEach === null
          ? []
          : [{ label: "Values…", icon: ListTree, onSelect: () => showValues(rule) }]),
        { label: "Send a test", icon: Send, disabled: test.isPending, onSelect: () => test.mutate() },
        {
          label: enabled ? "Turn off" : "Turn on",
          icon: Power,
          disabled: toggle.isPending,
          onSelect: () => toggle.mutate(),
        },
        { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(rule) },
      ]}
    />
  );
}

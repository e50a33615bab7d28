import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Bell, Pencil } from "lucide-react";
import { Suspense, useState } from "react";
import type { MetricReading, Rule } from "../../server/schemas/rule.ts";
import { AlertItem } from "../alerts/alert-item.tsx";
import { ruleAlertsQuery } from "../alerts/alerts.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { membersQuery } from "../members/members.ts";
import { schedulesQuery } from "../on-call/on-call.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group } from "../settings/group.tsx";
import { ItemPage } from "../shell/item-page.tsx";
import { valueText } from "./metric-text.ts";
import { EditRuleDialog } from "./rule-dialogs.tsx";
import { MetricChart } from "./rule-preview.tsx";
import { RuleSentence } from "./rule-sentence.tsx";
import { ruleLineQuery, ruleQuery } from "./rules.ts";

/** One rule: how it stands, the line of its metric, and its alerts. */
export function RulePage() {
  const { rule: id = "" } = useParams({ strict: false });
  const query = useQuery(ruleQuery(useProjectSlug(), id));
  return (
    <ItemPage noun="rule" list="/p/$project/rules" icon={<Bell aria-hidden />} query={query}>
      {(rule) => (
        <>
          <Summary rule={rule} />
          {rule.when.type === "metric" && <Line rule={rule} when={rule.when} />}
          <Alerts rule={rule} />
        </>
      )}
    </ItemPage>
  );
}

function Summary({ rule }: { rule: Rule }) {
  const project = useProjectSlug();
  const { data: members } = useQuery(membersQuery(project));
  const { data: destinations } = useQuery(projectDestinationsQuery(project));
  const { data: schedules } = useQuery(schedulesQuery(project));
  const canManage = useCan()("rules:manage");
  const [editing, setEditing] = useState(false);
  const { reading, when, enabled } = rule;
  return (
    <div className="flex flex-col gap-4">
      {members && schedules && destinations && (
        <p className="hostile max-w-3xl text-muted text-sm">
          <RuleSentence rule={rule} {...{ members, schedules, destinations }} />.
        </p>
      )}
      {!enabled && <p className="text-sm">It is turned off.</p>}
      {reading && when.type === "metric" && (
        <dl className="grid grid-cols-2 gap-x-6 gap-y-4 text-sm md:grid-cols-4 [&_dt]:text-muted [&_dt]:text-xs">
          <div>
            <dt>State</dt>
            <dd>
              <ReadingState reading={reading} />
              {reading.since !== null && (
                <span className="block text-faint text-xs">
                  since {formatDate(reading.since, "dayAndClock")}
                </span>
              )}
            </dd>
          </div>
          {rule.forEach === null && (
            <div>
              <dt>Value</dt>
              <dd>{reading.at === null ? "Not read yet" : valueText(when, reading.value)}</dd>
            </div>
          )}
          <div>
            <dt>Last read</dt>
            <dd>{reading.at === null ? "Never" : <RelativeTime at={reading.at} form="long" />}</dd>
          </div>
          <div>
            <dt>Next reading</dt>
            <dd>
              <time dateTime={reading.nextAt}>{formatDate(reading.nextAt, "soon")}</time>
            </dd>
          </div>
        </dl>
      )}
      {reading?.failure && (
        <p role="alert" className="hostile text-danger text-sm">
          It can't be read at the moment. {reading.failure}
        </p>
      )}
      {canManage && (
        <div>
          <Button onClick={() => setEditing(true)}>
            <Pencil aria-hidden className="size-4" />
            Edit…
          </Button>
        </div>
      )}
      {editing && <EditRuleDialog rule={rule} close={() => setEditing(false)} />}
    </div>
  );
}

const stateTexts: Record<MetricReading["state"], [text: string, className: string]> = {
  ok: ["OK", "text-good"],
  pending: ["Pending", "text-muted"],
  firing: ["Firing", "text-danger"],
};

function ReadingState({ reading: { state } }: { reading: MetricReading }) {
  const [text, className] = stateTexts[state];
  return <span className={className}>{text}</span>;
}

const ranges = [
  { days: 1, label: "24 hours" },
  { days: 30, label: "30 days" },
] as const;

function Line({ rule, when }: { rule: Rule; when: Extract<Rule["when"], { type: "metric" }> }) {
  const project = useProjectSlug();
  const [days, setDays] = useState(1);
  const { data, error, refetch } = useQuery(ruleLineQuery(project, rule, days));
  return (
    <Group
      title="Metric"
      lead="With the events that came late, which the rule may not have known when it read it."
    >
      <fieldset aria-label="Time" className="flex gap-1">
        {ranges.map(({ days: each, label }) => (
          <Button
            key={each}
            variant="ghost"
            aria-pressed={days === each}
            className="aria-pressed:bg-pressed"
            onClick={() => setDays(each)}
          >
            {label}
          </Button>
        ))}
      </fieldset>
      {error && !data ? (
        <ErrorState title="The metric couldn't be read" error={error} retry={() => void refetch()} />
      ) : !data?.metric ? (
        <Skeleton className="h-64" />
      ) : (
        <Suspense fallback={<Skeleton className="h-64" />}>
          <MetricChart when={when} metric={data.metric} toMs={Date.parse(data.to)} height={240} />
        </Suspense>
      )}
    </Group>
  );
}

function Alerts({ rule }: { rule: Rule }) {
  const project = useProjectSlug();
  const query = useInfiniteQuery(ruleAlertsQuery(project, rule.id));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  const [opened, setOpened] = useState<string | null>(null);
  const alerts = data?.pages.flatMap((page) => page.alerts);
  return (
    <Group title="Alerts">
      {error && !alerts ? (
        <ErrorState title="The alerts couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !alerts ? (
        <Skeleton className="h-24 rounded-lg" />
      ) : alerts.length === 0 ? (
        <p className="text-muted text-sm">The rule has opened no alert.</p>
      ) : (
        <ul className="overflow-hidden rounded-lg border border-line bg-raised">
          {alerts.map((alert) => (
            <AlertItem
              key={alert.id}
              project={project}
              alert={alert}
              isOpened={alert.id === opened}
              toggle={() => setOpened(alert.id === opened ? null : alert.id)}
            />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </Group>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bell, BellOff, Check, ChevronRight } from "lucide-react";
import { useId } from "react";
import type { Alert, AlertChange } from "../../server/schemas/alert.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { AlertState } from "./alert-state.tsx";
import { acknowledgements, alertQuery, useAlertAction } from "./alerts.ts";

type Props = {
  project: string;
  alert: Alert;
  isOpened: boolean;
  toggle: () => void;
};

/** An alert, with what can be done with it; opened, what happened to it. */
export function AlertItem({ project, alert, isOpened, toggle }: Props) {
  const id = useId();
  const { state, title, rule, matches, openedAt, urgent, silenced } = alert;
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-center gap-3 py-2.5 pr-3 pl-2">
        <button
          type="button"
          aria-expanded={isOpened}
          aria-controls={id}
          onClick={toggle}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-1 py-1 text-left hover:bg-hover"
        >
          <ChevronRight
            aria-hidden
            className={`size-4 shrink-0 text-faint transition-transform ${isOpened ? "rotate-90" : ""}`}
          />
          <span className="min-w-0 flex-1">
            <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <AlertState state={state} />
              <span className="hostile font-medium">{title}</span>
              {urgent && (
                <span className="rounded bg-accent-soft px-1.5 py-0.5 font-medium text-accent text-xs">
                  Urgent
                </span>
              )}
              {silenced && (
                <span className="inline-flex items-center gap-1 rounded bg-pressed px-1.5 py-0.5 text-muted text-xs">
                  <BellOff aria-hidden className="size-3.5" />
                  Silenced until {formatDate(silenced.until, "soon")}
                </span>
              )}
            </span>
            <span className="hostile mt-0.5 block text-muted text-sm">
              {!title.includes(rule.name) && `${rule.name} · `}
              {countOf(matches, "match", "matches")} · <RelativeTime at={openedAt} form="long" />
              {whoText(alert)}
            </span>
          </span>
        </button>
        <AlertActions project={project} alert={alert} />
      </div>
      {isOpened && <AlertDetails id={id} project={project} alert={alert} />}
    </li>
  );
}

function whoText({ state, acknowledged, resolved }: Alert): string {
  if (state === "resolved") return ` · resolved by ${resolved!.by ?? "its rule"}`;
  if (state !== "acknowledged") return "";
  const { by, until } = acknowledged!;
  return ` · ${by} looks after it${until === null ? "" : ` until ${formatDate(until, "dayAndClock")}`}`;
}

function AlertActions({ project, alert }: { project: string; alert: Alert }) {
  const act = useAlertAction(project, alert);
  const can = useCan();
  const { state, title } = alert;
  if (state === "resolved" || !can("alerts:change")) return null;
  return (
    <>
      {state === "firing" && (
        <Button
          className="max-md:hidden"
          busy={act.isPending}
          onClick={() => act.mutate({ do: "acknowledge", minutes: null })}
        >
          Acknowledge
        </Button>
      )}
      <RowMenu
        name={title}
        actions={[
          ...acknowledgements.map(({ label, minutes }) => ({
            label,
            icon: minutes === null ? Bell : BellOff,
            disabled: act.isPending,
            onSelect: () => act.mutate({ do: "acknowledge", minutes }),
          })),
          {
            label: "Resolve",
            icon: Check,
            disabled: act.isPending,
            onSelect: () => act.mutate({ do: "resolve" }),
          },
        ]}
      />
    </>
  );
}

function AlertDetails({ id, project, alert }: { id: string; project: string; alert: Alert }) {
  const { data } = useQuery(alertQuery(project, alert.id));
  return (
    <div id={id} className="flex flex-col gap-3 px-9 pb-4">
      {data ? (
        <ol aria-label="What happened" className="flex flex-col gap-1 text-sm">
          {data.changes.map((change) => (
            <li key={`${change.at} ${change.change}`} className="flex flex-wrap gap-x-3">
              <time dateTime={change.at} className="tabular-nums text-faint">
                {formatDate(change.at, "medium")}
              </time>
              <span className="hostile">{changeText(change)}</span>
            </li>
          ))}
        </ol>
      ) : (
        <Skeleton className="h-12" />
      )}
      <div className="flex flex-wrap gap-2">
        {alert.event !== null && (
          <Link to="/p/$project/events/$id" params={{ project, id: alert.event }} className={buttonClass()}>
            Last event
          </Link>
        )}
        <Link to="/p/$project" params={{ project }} search={{ q: alert.q }} className={buttonClass()}>
          Matching events
        </Link>
      </div>
    </div>
  );
}

function changeText({ change, by, until }: AlertChange): string {
  switch (change) {
    case "opened":
      return "The rule opened it.";
    case "reminded":
      return "Its recipients were reminded.";
    case "escalated":
      return "The next step of the rule was notified.";
    case "silenced":
      return `A silence by ${by ?? "a command"} covers it until ${formatDate(until!, "medium")}.`;
    case "acknowledged":
      return `${by} acknowledged it${until === null ? "" : ` until ${formatDate(until, "medium")}`}.`;
    case "resolved":
      return by === null ? "The rule resolved it." : `${by} resolved it.`;
  }
}

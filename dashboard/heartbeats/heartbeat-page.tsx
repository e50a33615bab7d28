import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { ArrowLeft, HeartPulse, ListFilter, Pause, Pencil, Play, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { ApiError } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { durationText } from "../rules/rules.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { Address } from "./address.tsx";
import { Badge } from "./badge.tsx";
import { DeleteHeartbeatDialog, RotateHeartbeatDialog } from "./confirm-dialogs.tsx";
import { EditHeartbeatDialog } from "./heartbeat-dialogs.tsx";
import { heartbeatQuery, scheduleText, secondsText } from "./heartbeats.ts";
import { PingList } from "./ping-list.tsx";
import { StateMark } from "./state-mark.tsx";
import { useToggle } from "./use-toggle.ts";

/** One heartbeat: its state, its address, and its last pings. */
export function HeartbeatPage() {
  const project = useProjectSlug();
  const { heartbeat: id = "" } = useParams({ strict: false });
  const { data: heartbeat, error, refetch } = useQuery(heartbeatQuery(project, id));
  const canManage = useCan()("heartbeats:manage");
  const isUnknown = error instanceof ApiError && error.code === "heartbeat-unknown";
  return (
    <>
      <PageHeader
        title={heartbeat?.name ?? "Heartbeat"}
        icon={
          <Link
            to="/p/$project/heartbeats"
            params={{ project }}
            aria-label="All heartbeats"
            className="-ml-1.5 flex size-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
          >
            <ArrowLeft aria-hidden className="size-4" />
          </Link>
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {isUnknown ? (
          <EmptyState
            icon={<HeartPulse aria-hidden />}
            title="There is no such heartbeat"
            action={
              <Link to="/p/$project/heartbeats" params={{ project }} className={buttonClass()}>
                All heartbeats
              </Link>
            }
          >
            It may have been deleted.
          </EmptyState>
        ) : error && !heartbeat ? (
          <ErrorState title="The heartbeat couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !heartbeat ? (
          <div className="flex flex-col gap-4 p-5">
            <Skeleton className="h-20" />
            <Skeleton className="h-64" />
          </div>
        ) : (
          <div className="mx-auto flex max-w-5xl flex-col gap-8 px-4 py-6 md:px-8 md:py-8">
            <div className="flex flex-col gap-4">
              <Facts heartbeat={heartbeat} />
              <Actions heartbeat={heartbeat} canManage={canManage} />
            </div>
            {canManage && <Address heartbeat={heartbeat} />}
            <PingList id={id} />
            <Badge heartbeat={heartbeat} canManage={canManage} />
          </div>
        )}
      </div>
    </>
  );
}

function Facts({ heartbeat }: { heartbeat: Heartbeat }) {
  const { state, reason, downSince, startedAt, lastPingAt, nextDueAt, seconds } = heartbeat;
  const { schedule, graceMinutes, maxMinutes } = heartbeat;
  const since = state === "down" ? downSince : state === "started" ? startedAt : null;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-4 text-sm md:grid-cols-4 [&_dt]:text-muted [&_dt]:text-xs">
      <div>
        <dt>State</dt>
        <dd>
          <StateMark state={state} reason={reason} />
          {since !== null && (
            <span className="block text-faint text-xs">since {formatDate(since, "dayAndClock")}</span>
          )}
        </dd>
      </div>
      <div>
        <dt>Last ping</dt>
        <dd>
          {lastPingAt === null ? "Never" : <RelativeTime at={lastPingAt} form="long" />}
          {seconds !== null && (
            <span className="block text-faint text-xs">The last run took {secondsText(seconds)}</span>
          )}
        </dd>
      </div>
      <div>
        <dt>Next due</dt>
        <dd>
          {nextDueAt === null ? (
            nothingDue[state]
          ) : (
            <time dateTime={nextDueAt} title={formatDate(nextDueAt, "exact")}>
              {formatDate(nextDueAt, "soon")}
            </time>
          )}
        </dd>
      </div>
      <div>
        <dt>Schedule</dt>
        <dd className="hostile">
          {scheduleText(schedule)}
          <span className="block text-faint text-xs">
            {graceMinutes === 0 ? "Without grace" : `Grace of ${durationText(graceMinutes)}`}
            {maxMinutes !== null && `, a run may take ${durationText(maxMinutes)}`}
          </span>
        </dd>
      </div>
    </dl>
  );
}

/** Why nothing is due. */
const nothingDue: Record<Heartbeat["state"], string> = {
  new: "After the first ping",
  down: "As soon as possible",
  paused: "Not while it is paused",
  up: "Never",
  started: "Never",
  late: "Never",
};

function Actions({ heartbeat, canManage }: { heartbeat: Heartbeat; canManage: boolean }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const toggle = useToggle(heartbeat);
  const [opened, setOpened] = useState<"edit" | "rotate" | "remove" | null>(null);
  const { name, slug, enabled } = heartbeat;
  const close = () => setOpened(null);
  const Icon = enabled ? Pause : Play;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {canManage && (
        <>
          <Button onClick={() => setOpened("edit")}>
            <Pencil aria-hidden className="size-4" />
            Edit
          </Button>
          <Button busy={toggle.isPending} onClick={() => toggle.mutate()}>
            <Icon aria-hidden className="size-4" />
            {enabled ? "Pause" : "Resume"}
          </Button>
        </>
      )}
      <Link
        to="/p/$project"
        params={{ project }}
        search={{ q: `heartbeat="${slug}"` }}
        className={buttonClass()}
      >
        <ListFilter aria-hidden className="size-4" />
        Its events
      </Link>
      {canManage && (
        <RowMenu
          name={name}
          actions={[
            { label: "Replace the address…", icon: RefreshCw, onSelect: () => setOpened("rotate") },
            { label: "Delete…", icon: Trash2, danger: true, onSelect: () => setOpened("remove") },
          ]}
        />
      )}
      {opened === "edit" && <EditHeartbeatDialog heartbeat={heartbeat} close={close} />}
      {opened === "rotate" && <RotateHeartbeatDialog heartbeat={heartbeat} close={close} />}
      {opened === "remove" && (
        <DeleteHeartbeatDialog
          heartbeat={heartbeat}
          close={close}
          deleted={() => void navigate({ to: "/p/$project/heartbeats", params: { project } })}
        />
      )}
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { HeartPulse, ListFilter, Pause, Pencil, Play, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { durationText } from "../rules/rules.ts";
import { ItemPage } from "../shell/item-page.tsx";
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
  const { heartbeat: id = "" } = useParams({ strict: false });
  const query = useQuery(heartbeatQuery(useProjectSlug(), id));
  const canManage = useCan()("heartbeats:manage");
  return (
    <ItemPage noun="heartbeat" list="/p/$project/heartbeats" icon={<HeartPulse aria-hidden />} query={query}>
      {(heartbeat) => (
        <>
          <div className="flex flex-col gap-4">
            <Facts heartbeat={heartbeat} />
            <Actions heartbeat={heartbeat} canManage={canManage} />
          </div>
          {canManage && <Address heartbeat={heartbeat} />}
          <PingList id={id} />
          <Badge heartbeat={heartbeat} canManage={canManage} />
        </>
      )}
    </ItemPage>
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

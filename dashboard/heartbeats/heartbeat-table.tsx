import { Link } from "@tanstack/react-router";
import { Pause, Pencil, Play, RefreshCw, Trash2 } from "lucide-react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { scheduleText, secondsText } from "./heartbeats.ts";
import { StateMark } from "./state-mark.tsx";
import { useToggle } from "./use-toggle.ts";

type Actions = Record<"edit" | "rotate" | "remove", (heartbeat: Heartbeat) => void>;

/** On narrow screens each row is a small card, because the columns don't fit. */
export function HeartbeatTable({ heartbeats, ...actions }: Actions & { heartbeats: Heartbeat[] }) {
  const canManage = useCan()("heartbeats:manage");
  return (
    <CardTable columns={["Name", "Schedule", "Last ping", "Next due"]} hasActions={canManage}>
      {heartbeats.map((heartbeat) => (
        <Row key={heartbeat.id} heartbeat={heartbeat} {...(canManage && { actions })} />
      ))}
    </CardTable>
  );
}

function Row({ heartbeat, actions }: { heartbeat: Heartbeat; actions?: Actions }) {
  const project = useProjectSlug();
  const { id, name, schedule, state, reason, lastPingAt, seconds, nextDueAt } = heartbeat;
  return (
    <CardRow>
      <th scope="row" className="min-w-0 text-left font-medium">
        <Link
          to="/p/$project/heartbeats/$heartbeat"
          params={{ project, heartbeat: id }}
          className="hostile hover:text-accent hover:underline"
        >
          {name}
        </Link>
        <StateMark state={state} reason={reason} className="mt-0.5 font-normal text-xs" />
      </th>
      <td className="hostile min-w-0 text-muted">{scheduleText(schedule)}</td>
      <td className="text-muted">
        {lastPingAt === null ? (
          "No ping yet"
        ) : (
          <>
            <span className="@2xl:sr-only">Last ping </span>
            <RelativeTime at={lastPingAt} form="long" />
            {seconds !== null && (
              <span className="block text-faint text-xs">The last run took {secondsText(seconds)}</span>
            )}
          </>
        )}
      </td>
      <td className="text-muted">
        {nextDueAt === null ? (
          <span className="text-faint @max-2xl:hidden">–</span>
        ) : (
          <>
            <span className="@2xl:sr-only">Next due </span>
            <time dateTime={nextDueAt} title={formatDate(nextDueAt, "exact")}>
              {formatDate(nextDueAt, "soon")}
            </time>
          </>
        )}
      </td>
      {actions && (
        <RowActions>
          <Menu heartbeat={heartbeat} {...actions} />
        </RowActions>
      )}
    </CardRow>
  );
}

function Menu({ heartbeat, edit, rotate, remove }: Actions & { heartbeat: Heartbeat }) {
  const { name, enabled } = heartbeat;
  const toggle = useToggle(heartbeat);
  return (
    <RowMenu
      name={name}
      actions={[
        { label: "Edit…", icon: Pencil, onSelect: () => edit(heartbeat) },
        {
          label: enabled ? "Pause" : "Resume",
          icon: enabled ? Pause : Play,
          disabled: toggle.isPending,
          onSelect: () => toggle.mutate(),
        },
        { label: "Replace the address…", icon: RefreshCw, onSelect: () => rotate(heartbeat) },
        { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(heartbeat) },
      ]}
    />
  );
}

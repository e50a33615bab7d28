import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pause, Pencil, Play, Send, Trash2 } from "lucide-react";
import type { Report } from "../../server/schemas/report.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { recipientText, reportsQuery, scheduleText } from "./reports.ts";

type Actions = Record<"edit" | "remove", (report: Report) => void>;

/** On narrow screens each row is a small card, because the columns don't fit. */
export function ReportTable({ reports, ...actions }: Actions & { reports: Report[] }) {
  return (
    <CardTable columns={["Board", "Schedule", "Next", "Last"]} hasActions>
      {reports.map((report) => (
        <Row key={report.id} report={report} actions={actions} />
      ))}
    </CardTable>
  );
}

function Row({ report, actions }: { report: Report; actions: Actions }) {
  const project = useProjectSlug();
  const canManage = useCan()("reports:manage");
  const { board, schedule, dueAt } = report;
  return (
    <CardRow>
      <th scope="row" className="min-w-0 text-left font-medium">
        <Link
          to="/p/$project/boards/$board"
          params={{ project, board: board.id }}
          className="hostile hover:text-accent hover:underline"
        >
          {board.name}
        </Link>
        <span className="hostile block font-normal text-muted text-xs">To: {recipientText(report)}</span>
      </th>
      <td className="hostile min-w-0 text-muted">{scheduleText(schedule)}</td>
      <td className="text-muted">
        {dueAt === null ? (
          "Off"
        ) : (
          <>
            <span className="@2xl:sr-only">Next </span>
            <time dateTime={dueAt} title={formatDate(dueAt, "exact")}>
              {formatDate(dueAt, "soon")}
            </time>
          </>
        )}
      </td>
      <td className="min-w-0 text-muted">
        <Last report={report} />
      </td>
      <RowActions>
        {(report.destination === null || canManage) && <Menu report={report} {...actions} />}
      </RowActions>
    </CardRow>
  );
}

const states: Record<string, string> = {
  waiting: "Being sent",
  delivered: "Sent",
  dead: "Failed",
  cancelled: "Canceled",
};

function Last({ report: { last } }: { report: Report }) {
  if (last === null) return "Not sent yet";
  return (
    <>
      <span className={last.state === "dead" ? "text-danger" : ""}>{states[last.state] ?? last.state}</span>{" "}
      <RelativeTime at={last.at} form="long" />
      {last.state !== "delivered" && last.detail !== null && (
        <span className="hostile block text-faint text-xs">{last.detail}</span>
      )}
    </>
  );
}

function Menu({ report, edit, remove }: Actions & { report: Report }) {
  const project = useProjectSlug();
  const { id, enabled, board } = report;
  const { queryKey } = reportsQuery(project);
  const send = useMutation({
    mutationFn: () => api(`/api/reports/${id}/send`, { method: "POST", query: { project } }),
    onSuccess() {
      void refresh(queryKey);
      toast({ title: `A test of ${board.name} is on its way` });
    },
    onError: (error) =>
      toast({ title: "The report wasn't sent", description: errorMessage(error), failed: true }),
  });
  const toggle = useMutation({
    mutationFn: () =>
      api(`/api/reports/${id}`, { method: "PATCH", query: { project }, body: { enabled: !enabled } }),
    onSuccess: () => refresh(queryKey),
    onError: (error) =>
      toast({ title: "The report wasn't changed", description: errorMessage(error), failed: true }),
  });
  return (
    <RowMenu
      name={board.name}
      actions={[
        { label: "Edit…", icon: Pencil, onSelect: () => edit(report) },
        { label: "Send a test now", icon: Send, disabled: send.isPending, onSelect: () => send.mutate() },
        {
          label: enabled ? "Turn off" : "Turn on",
          icon: enabled ? Pause : Play,
          disabled: toggle.isPending,
          onSelect: () => toggle.mutate(),
        },
        { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(report) },
      ]}
    />
  );
}

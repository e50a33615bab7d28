import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Report } from "../../server/schemas/report.ts";
import { api } from "../api.ts";
import { boardsQuery } from "../boards/boards.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { byParts } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { formOf, newReportForm, type ReportForm, reportParts, scheduleOf } from "./report-form.ts";
import { ReportPreview } from "./report-preview.tsx";
import { recipientText, reportsQuery, scheduleText } from "./reports.ts";
import { ScheduleFields } from "./schedule-fields.tsx";

type NewProps = {
  /** The board to send. Without it, the dialog asks. */
  board?: string;
  close: () => void;
};

export function NewReportDialog({ board = "", close }: NewProps) {
  const project = useProjectSlug();
  const { data: boards = [] } = useQuery(boardsQuery(project));
  const canManage = useCan()("reports:manage");
  const { data: destinations = [] } = useQuery({
    ...projectDestinationsQuery(project),
    enabled: canManage,
  });
  const [entered, setEntered] = useState(() => newReportForm(board));
  const form = { ...entered, board: entered.board || (boards[0]?.id ?? "") };
  const change = (changed: Partial<ReportForm>) => setEntered({ ...form, ...changed });
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; report: Report }>("/api/reports", {
        method: "POST",
        query: { project },
        body: { board: form.board, destination: form.destination || null, schedule: scheduleOf(form) },
      }),
    onSuccess({ report }) {
      void refresh(reportsQuery(project).queryKey);
      close();
      toast({
        title: `${report.board.name} goes to ${recipientText(report) === "You, by email" ? "your email" : recipientText(report)}`,
        description: scheduleText(report.schedule),
      });
    },
  });
  return (
    <FormDialog
      wide
      title="New report"
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create report"
      close={close}
    >
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        <SelectField
          label="Board"
          member="board"
          value={form.board}
          onChange={(event) => change({ board: event.target.value })}
        >
          {boards.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="To"
          member="destination"
          value={form.destination}
          onChange={(event) => change({ destination: event.target.value })}
        >
          <option value="">You, by email</option>
          {destinations.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
      </div>
      <ScheduleFields form={form} change={change} />
      <ReportPreview board={form.board} every={form.every} timeZone={form.timeZone} />
    </FormDialog>
  );
}

type Props = { report: Report; close: () => void };

export function EditReportDialog({ report, close }: Props) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Report, ReportForm>({
    thing: report,
    what: "report",
    formOf,
    compare: byParts(reportParts),
    keys: [reportsQuery(project).queryKey],
    save: (form, { version }) =>
      api(`/api/reports/${report.id}`, {
        method: "PATCH",
        query: { project },
        body: { schedule: scheduleOf(form) },
        version,
      }),
    saved: close,
    gone: { code: "report-unknown" },
  });
  return (
    <>
      <FormDialog
        wide
        title={`Report of ${report.board.name}`}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={() => {
          discard();
          close();
        }}
      >
        <p className="hostile text-muted text-sm">Goes to: {recipientText(report)}</p>
        <ScheduleFields form={form} change={(changed) => change({ ...form, ...changed })} />
        <ReportPreview board={form.board} every={form.every} timeZone={form.timeZone} />
      </FormDialog>
      {dialog}
    </>
  );
}

export function DeleteReportDialog({ report, close }: Props) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/reports/${report.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refresh(reportsQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this report?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{report.board.name}</b> is no longer sent to{" "}
      {report.destination?.name ?? "your email"}, and pictures in messages that were sent can no longer be
      opened. The board stays.
    </ConfirmDialog>
  );
}

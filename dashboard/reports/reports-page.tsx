import { useQuery } from "@tanstack/react-query";
import { Mail } from "lucide-react";
import { useState } from "react";
import type { Report } from "../../server/schemas/report.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { DeleteReportDialog, EditReportDialog, NewReportDialog } from "./report-dialogs.tsx";
import { ReportTable } from "./report-table.tsx";
import { reportsQuery } from "./reports.ts";

/** Dialogs for a report. */
const dialogs = { edit: EditReportDialog, remove: DeleteReportDialog };

export function ReportsPage() {
  const query = useQuery(reportsQuery(useProjectSlug()));
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Report, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  return (
    <>
      <ListPage
        title="Reports"
        intro="A report sends a board on a schedule: its numbers, compared with the period before, and a picture of its charts. You see your own, and those to the project's destinations."
        query={query}
        empty={{
          icon: <Mail aria-hidden />,
          title: "No reports yet",
          text: "Get a board by email every morning, Monday or month.",
        }}
        create={{ label: "New report", open: () => setCreating(true) }}
        list={(reports) => <ReportTable reports={reports} edit={open("edit")} remove={open("remove")} />}
      />
      {creating && <NewReportDialog close={() => setCreating(false)} />}
      {Opened && <Opened key={opened.item.id} report={opened.item} close={close} />}
    </>
  );
}

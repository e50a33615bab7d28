import { useQuery } from "@tanstack/react-query";
import type { Sidebar } from "../../server/schemas/view.ts";
import { OpenAlertsNote } from "../alerts/open-alerts-note.tsx";
import { sidebarQuery } from "../channels/channels.ts";
import { SilenceNotePart } from "../silences/silence-note-part.tsx";

const openAlertsIn = (sidebar: Sidebar) => sidebar.openAlerts;

/** Notes above the feed: the open alerts, and the active silences. */
export function FeedNotes({ project }: { project: string }) {
  const { data: open = 0 } = useQuery({ ...sidebarQuery(project), select: openAlertsIn });
  return (
    <>
      {open > 0 && <OpenAlertsNote project={project} open={open} />}
      <SilenceNotePart className="border-b" />
    </>
  );
}

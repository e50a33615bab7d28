import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../api.ts";
import { channelsQuery } from "../channels/channels.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { notificationsKey } from "../notifications/notifications.ts";
import { refresh } from "../queries.ts";
import { broadcastToTabs } from "../tabs.ts";
import { eventQuery } from "./event-query.ts";

export type DeleteEventProps = {
  project: string;
  id: string;
  close: () => void;
  onDeleted: () => Promise<void>;
};

export default function DeleteEventDialog({ project, id, close, onDeleted }: DeleteEventProps) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/api/events/${encodeURIComponent(id)}`, { method: "DELETE", query: { project } }),
    async onSuccess() {
      close();
      // Wait until the page no longer shows the event; otherwise the removed query would be fetched again.
      await onDeleted();
      queries.removeQueries({ queryKey: eventQuery(project, id).queryKey });
      broadcastToTabs({ type: "event-deleted", project, id });
      void refresh(channelsQuery(project).queryKey, notificationsKey);
    },
  });
  return (
    <ConfirmDialog title="Delete this event?" action="Delete event" mutation={remove} close={close}>
      This permanently deletes the event and its delivery log.
    </ConfirmDialog>
  );
}

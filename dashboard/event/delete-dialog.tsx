import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { eventQuery } from "./event-query.ts";

type Props = { project: string; id: string; close: () => void; onDeleted: () => Promise<void> };

export function DeleteEventDialog({ project, id, close, onDeleted }: Props) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/api/events/${encodeURIComponent(id)}`, { method: "DELETE", query: { project } }),
    async onSuccess() {
      close();
      // While it is on the page, what is removed would be asked for again.
      await onDeleted();
      queries.removeQueries({ queryKey: eventQuery(project, id).queryKey });
      void queries.invalidateQueries({ queryKey: ["channels", project] });
    },
  });
  return (
    <ConfirmDialog title="Delete this event?" action="Delete" run={remove} close={close}>
      It goes for good, with its deliveries, and is no longer counted. A feed that is open shows it until it
      is loaded again.
    </ConfirmDialog>
  );
}

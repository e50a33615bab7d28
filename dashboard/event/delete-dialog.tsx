import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { eventQuery } from "./event-query.ts";

type Props = { project: string; id: string; close: () => void; onDeleted: () => void };

export function DeleteEventDialog({ project, id, close, onDeleted }: Props) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/api/events/${encodeURIComponent(id)}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      close();
      onDeleted();
      queries.removeQueries({ queryKey: eventQuery(project, id).queryKey });
      void queries.invalidateQueries({ queryKey: ["channels", project] });
    },
  });
  return (
    <Dialog open onOpenChange={close} title="Delete this event?">
      <p className="text-muted text-sm">
        It goes for good, with its deliveries, and is no longer counted. A feed that is open shows it until it
        is loaded again.
      </p>
      {remove.error && (
        <div className="mt-4">
          <Alert>{sentence(remove.error)}</Alert>
        </div>
      )}
      <DialogButtons>
        <Button look="ghost" onClick={close}>
          Cancel
        </Button>
        <Button look="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
          Delete
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { projectDestinationsQuery } from "./project-destinations.ts";

type Props = { destination: ProjectDestination; close: () => void };

export function DeleteDestinationDialog({ destination, close }: Props) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () =>
      api(`/api/project-destinations/${destination.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshConnections(project, projectDestinationsQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this destination?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{destination.name}</b> gets no more notifications. Waiting
      notifications are not sent, and rules can no longer reach it. This can't be undone.
    </ConfirmDialog>
  );
}

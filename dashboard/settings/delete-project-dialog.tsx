import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Project } from "../../server/schemas/project.ts";
import { meQuery } from "../account/me.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refresh } from "../queries.ts";

export function DeleteProjectDialog({ project, close }: { project: Project; close: () => void }) {
  const navigate = useNavigate();
  const { slug } = project;
  const remove = useMutation({
    mutationFn: () =>
      api(`/api/projects/${encodeURIComponent(slug)}`, { method: "DELETE", query: { confirm: slug } }),
    async onSuccess() {
      await refresh(meQuery.queryKey);
      close();
      await navigate({ to: "/" });
    },
  });
  return (
    <ConfirmDialog
      title="Delete this project?"
      action="Delete project"
      mutation={remove}
      close={close}
      confirmationText={slug}
    >
      Its channels, events and API keys are permanently deleted. Applications that use its keys can no longer
      send events.
    </ConfirmDialog>
  );
}

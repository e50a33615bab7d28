import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Project } from "../../server/schemas/project.ts";
import { meQuery } from "../account/me.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refresh } from "../queries.ts";

export function LeaveDialog({ project, close }: { project: Project; close: () => void }) {
  const navigate = useNavigate();
  const leave = useMutation({
    mutationFn: () => api(`/api/projects/${encodeURIComponent(project.slug)}/leave`, { method: "POST" }),
    async onSuccess() {
      await refresh(meQuery.queryKey);
      close();
      await navigate({ to: "/" });
    },
  });
  return (
    <ConfirmDialog title="Leave this project?" action="Leave project" mutation={leave} close={close}>
      You no longer see <b className="font-semibold text-ink">{project.name}</b> and get no more notifications
      from it.
    </ConfirmDialog>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { api, errorMessage } from "../api.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { heartbeatsQuery } from "./heartbeats.ts";

/** Pauses a heartbeat, or resumes it. */
export function useToggle({ id, enabled }: Heartbeat) {
  const project = useProjectSlug();
  return useMutation({
    mutationFn: () =>
      api(`/api/heartbeats/${id}`, { method: "PATCH", query: { project }, body: { enabled: !enabled } }),
    onSuccess: () => refresh(heartbeatsQuery(project).queryKey),
    onError: (error) =>
      toast({
        title: `The heartbeat wasn't ${enabled ? "paused" : "resumed"}`,
        description: errorMessage(error),
        failed: true,
      }),
  });
}

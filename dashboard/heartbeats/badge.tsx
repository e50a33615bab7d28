import { useMutation } from "@tanstack/react-query";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { Group } from "../settings/group.tsx";
import { heartbeatsQuery } from "./heartbeats.ts";

/** The badge of a heartbeat: an image with its state, for a README or a wall. */
export function Badge({ heartbeat, canManage }: { heartbeat: Heartbeat; canManage: boolean }) {
  const project = useProjectSlug();
  const { id, name, badgeUrl } = heartbeat;
  const set = useMutation({
    mutationFn: (isOn: boolean) =>
      api(`/api/heartbeats/${id}/badge`, { method: isOn ? "POST" : "DELETE", query: { project } }),
    onSuccess: () => refresh(heartbeatsQuery(project).queryKey),
  });
  if (badgeUrl === null && !canManage) return null;
  return (
    <Group
      title="Badge"
      lead="An image with the name and the state, which anyone who has its address can see."
    >
      {badgeUrl !== null && (
        <>
          <img src={`${new URL(badgeUrl).pathname}`} alt={`${name}, its badge`} className="h-5 self-start" />
          <CodeBlock label="Markdown" code={`![${name.replaceAll(/[[\]]/g, "\\$&")}](${badgeUrl})`} />
        </>
      )}
      {canManage && (
        <div className="flex flex-wrap gap-2">
          <Button busy={set.isPending} onClick={() => set.mutate(true)}>
            {badgeUrl === null ? "Turn on the badge" : "Replace its address"}
          </Button>
          {badgeUrl !== null && (
            <Button busy={set.isPending} onClick={() => set.mutate(false)}>
              Turn off the badge
            </Button>
          )}
        </div>
      )}
      {set.error && <Alert>{errorMessage(set.error)}</Alert>}
    </Group>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { Key } from "../../server/schemas/key.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { keysQuery } from "./key-table.tsx";

export function RevokeDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const revoke = useMutation({
    mutationFn: () => api(`/api/keys/${apiKey.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshConnections(project, keysQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Revoke this API key?" action="Revoke" mutation={revoke} close={close}>
      <b className="font-semibold text-ink">{apiKey.name}</b> (…{apiKey.ending}) stops working, effective
      immediately. This can't be undone. Its events are kept.
    </ConfirmDialog>
  );
}

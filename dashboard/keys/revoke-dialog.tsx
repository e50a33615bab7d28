import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Key } from "../../server/wire/key.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { keysQuery } from "./keys.ts";

export function RevokeDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => api(`/api/keys/${apiKey.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void queries.invalidateQueries({ queryKey: keysQuery(project).queryKey });
      close();
    },
  });
  return (
    <ConfirmDialog title="Revoke this key?" action="Revoke" run={revoke} close={close}>
      Whatever uses <b className="font-semibold text-ink">{apiKey.name}</b> (…{apiKey.ending}) can no longer
      send or read events, from now on and for good. Events that it sent stay.
    </ConfirmDialog>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Key } from "../../server/wire/key.ts";
import { api, sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
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
    <Dialog open onOpenChange={close} title="Revoke this key?">
      <p className="hostile text-muted text-sm">
        Whatever uses <b className="font-semibold text-ink">{apiKey.name}</b> (…{apiKey.ending}) can no longer
        send or read events, from now on and for good. Events that it sent stay.
      </p>
      {revoke.error && (
        <div className="mt-4">
          <Alert>{sentence(revoke.error)}</Alert>
        </div>
      )}
      <DialogButtons>
        <Button look="ghost" onClick={close}>
          Cancel
        </Button>
        <Button look="danger" busy={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

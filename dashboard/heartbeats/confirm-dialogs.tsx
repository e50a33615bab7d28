import { useMutation } from "@tanstack/react-query";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { useKnownVersion } from "../edits/use-known-version.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { heartbeatsQuery } from "./heartbeats.ts";

type Props = { heartbeat: Heartbeat; close: () => void };

export function RotateHeartbeatDialog({ heartbeat, close }: Props) {
  const project = useProjectSlug();
  const { known, note, errorOf, onError } = useKnownVersion(heartbeat);
  const rotate = useMutation({
    mutationFn: () =>
      api<{ ok: true; url: string }>(`/api/heartbeats/${heartbeat.id}/rotate`, {
        method: "POST",
        query: { project },
        version: known.version,
      }),
    onSuccess: () => refresh(heartbeatsQuery(project).queryKey),
    onError,
  });
  if (rotate.data)
    return (
      <Dialog
        open
        wide
        onOpenChange={close}
        title={`The new address of ${heartbeat.name}`}
        description="Enter it where your job runs. Anyone who has it can ping, so keep it secret."
      >
        <SecretBox secret={rotate.data.url} label="Copy address" />
        <DialogButtons>
          <Button variant="solid" onClick={close}>
            Done
          </Button>
        </DialogButtons>
      </Dialog>
    );
  return (
    <ConfirmDialog
      title="Replace the address?"
      action="Replace address"
      mutation={{ ...rotate, error: errorOf(rotate.error) }}
      close={close}
      note={note}
    >
      <b className="font-semibold text-ink">{heartbeat.name}</b> gets a new address. The old one stops working
      at once, so change your job right away.
    </ConfirmDialog>
  );
}

export function DeleteHeartbeatDialog({
  heartbeat,
  close,
  deleted = close,
}: Props & { deleted?: () => void }) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/heartbeats/${heartbeat.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refresh(heartbeatsQuery(project).queryKey);
      deleted();
    },
  });
  return (
    <ConfirmDialog title="Delete this heartbeat?" action="Delete" mutation={remove} close={close}>
      Pings of <b className="font-semibold text-ink">{heartbeat.name}</b> are refused from now on, and the
      last ones are deleted. Its events stay. This can't be undone.
    </ConfirmDialog>
  );
}

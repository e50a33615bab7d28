import { useMutation } from "@tanstack/react-query";
import type { Webhook } from "../../server/schemas/webhook.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useKnownVersion } from "../edits/use-known-version.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { AddressDialog } from "./address-dialog.tsx";
import { webhooksQuery } from "./webhooks.ts";

type Props = { webhook: Webhook; close: () => void };

export function RotateWebhookDialog({ webhook, close }: Props) {
  const project = useProjectSlug();
  const { known, note, errorOf, onError } = useKnownVersion(webhook);
  const rotate = useMutation({
    mutationFn: () =>
      api<{ ok: true; webhook: Webhook; url: string }>(`/api/webhooks/${webhook.id}/rotate`, {
        method: "POST",
        query: { project },
        version: known.version,
      }),
    onSuccess: () => refreshConnections(project, webhooksQuery(project).queryKey),
    onError,
  });
  if (rotate.data) return <AddressDialog {...rotate.data} close={close} />;
  return (
    <ConfirmDialog
      title="Replace the address?"
      action="Replace address"
      mutation={{ ...rotate, error: errorOf(rotate.error) }}
      close={close}
      note={note}
    >
      <b className="font-semibold text-ink">{webhook.name}</b> gets a new address. The old one stops working
      at once, so give the sender the new one right away.
    </ConfirmDialog>
  );
}

export function DeleteWebhookDialog({ webhook, close }: Props) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/webhooks/${webhook.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshConnections(project, webhooksQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this webhook?" action="Delete" mutation={remove} close={close}>
      Requests to <b className="font-semibold text-ink">{webhook.name}</b> are refused from now on. Its events
      stay. This can't be undone.
    </ConfirmDialog>
  );
}

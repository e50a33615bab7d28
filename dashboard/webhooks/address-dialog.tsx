import type { Webhook } from "../../server/wire/webhook.ts";
import { Button } from "../components/ui/button.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { sources } from "./webhooks.ts";

type Props = { webhook: Webhook; url: string; close: () => void };

/** Shows a webhook's new address, for the only time. */
export function AddressDialog({ webhook, url, close }: Props) {
  const { secretHint } = sources[webhook.source];
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title="Your webhook's address"
      description="Enter it where the sender asks for a URL. Anyone who has it can send, so keep it secret. Copy it now. You won't see it again."
    >
      <SecretBox secret={url} label="Copy address" />
      {secretHint && !webhook.hasSecret && (
        <p className="mt-3 text-muted text-sm">
          Next: edit the webhook and enter its signing secret. {secretHint}
        </p>
      )}
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

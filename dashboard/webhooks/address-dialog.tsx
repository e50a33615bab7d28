import { useQuery } from "@tanstack/react-query";
import type { Webhook } from "../../server/schemas/webhook.ts";
import { Button } from "../components/ui/button.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { sources } from "./sources.ts";
import { webhookUrlQuery } from "./webhooks.ts";

type Props = { webhook: Webhook; url: string; close: () => void };

/** Shows a webhook's new address. */
export function AddressDialog({ webhook, url, close }: Props) {
  return (
    <Frame title="Your webhook's address" close={close}>
      <Address webhook={webhook} url={url} />
    </Frame>
  );
}

/** Shows the address of a webhook that exists. */
export function ShowAddressDialog({ webhook, close }: Omit<Props, "url">) {
  const { data, error, refetch } = useQuery({
    ...webhookUrlQuery(useProjectSlug(), webhook.id),
    enabled: webhook.hasUrl,
  });
  return (
    <Frame title={`The address of ${webhook.name}`} close={close}>
      {!webhook.hasUrl ? (
        <p className="hostile text-sm">
          This address is older than the version of Tidings that keeps addresses, so it can't be shown. It
          still works. “Replace the address” in the webhook's menu makes a new one, which ends the old one.
        </p>
      ) : error && !data ? (
        <ErrorState title="The address couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton className="h-12 rounded-lg" />
      ) : (
        <Address webhook={webhook} url={data} />
      )}
    </Frame>
  );
}

function Frame({ title, close, children }: { title: string; close: () => void; children: React.ReactNode }) {
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title={title}
      description="Enter it where the sender asks for a URL. Anyone who has it can send, so keep it secret."
    >
      {children}
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function Address({ webhook, url }: Omit<Props, "close">) {
  const { secretHint, isSecretOptional } = sources[webhook.source];
  return (
    <>
      <SecretBox secret={url} label="Copy address" />
      {secretHint && !webhook.hasSecret && (
        <p className="mt-3 text-muted text-sm">
          {isSecretOptional ? "You can" : "Next:"} edit the webhook and enter its signing secret. {secretHint}
        </p>
      )}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Webhook as WebhookIcon } from "lucide-react";
import { useState } from "react";
import type { Webhook } from "../../server/schemas/webhook.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { ShowAddressDialog } from "./address-dialog.tsx";
import { DeleteWebhookDialog, RotateWebhookDialog } from "./confirm-dialogs.tsx";
import { ReceivedDialog } from "./received-dialog.tsx";
import { EditWebhookDialog, NewWebhookDialog } from "./webhook-dialogs.tsx";
import { WebhookTable } from "./webhook-table.tsx";
import { webhooksQuery } from "./webhooks.ts";

/** Dialogs for a webhook. */
const dialogs = {
  address: ShowAddressDialog,
  received: ReceivedDialog,
  edit: EditWebhookDialog,
  rotate: RotateWebhookDialog,
  remove: DeleteWebhookDialog,
};

export function WebhooksPage() {
  const query = useQuery(webhooksQuery(useProjectSlug()));
  const canManage = useCan()("webhooks:manage");
  const [adding, setAdding] = useState(false);
  const { opened, open, close } = useItemDialog<Webhook, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  return (
    <>
      <ListPage
        title="Webhooks"
        intro="Addresses that turn the requests of other services, such as Stripe and GitHub, into events."
        query={query}
        empty={{
          icon: <WebhookIcon aria-hidden />,
          title: "No webhooks yet",
          text: canManage
            ? "Create an address, then enter it in the service that sends the requests."
            : "Owners and admins can create webhooks.",
        }}
        create={canManage && { label: "New webhook", open: () => setAdding(true) }}
        list={(webhooks) => (
          <WebhookTable
            webhooks={webhooks}
            address={open("address")}
            received={open("received")}
            edit={open("edit")}
            rotate={open("rotate")}
            remove={open("remove")}
          />
        )}
      />
      {adding && <NewWebhookDialog close={() => setAdding(false)} />}
      {Opened && <Opened webhook={opened.item} close={close} />}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { useState } from "react";
import type { Webhook } from "../../server/wire/webhook.ts";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { DeleteWebhookDialog, RotateWebhookDialog } from "./confirm-dialogs.tsx";
import { ReceivedDialog } from "./received-dialog.tsx";
import { EditWebhookDialog, NewWebhookDialog } from "./webhook-dialogs.tsx";
import { WebhookTable } from "./webhook-table.tsx";
import { webhooksQuery } from "./webhooks.ts";

/** Dialogs for a webhook. */
const dialogs = {
  received: ReceivedDialog,
  edit: EditWebhookDialog,
  rotate: RotateWebhookDialog,
  remove: DeleteWebhookDialog,
};

export function WebhooksPage() {
  const project = useProjectSlug();
  const { data: webhooks, error, refetch } = useQuery(webhooksQuery(project));
  const canManage = useCan()("webhooks:manage");
  const [adding, setAdding] = useState(false);
  const [opened, setOpened] = useState<{ dialog: keyof typeof dialogs; webhook: Webhook } | null>(null);
  const open = (dialog: keyof typeof dialogs) => (webhook: Webhook) => setOpened({ dialog, webhook });
  const Opened = opened && dialogs[opened.dialog];
  const add = canManage && (
    <Button variant="solid" onClick={() => setAdding(true)}>
      <Plus aria-hidden className="size-4" />
      New webhook
    </Button>
  );
  return (
    <>
      <PageHeader title="Webhooks" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-lg text-muted text-sm">
              Addresses that make events of what other services send, such as Stripe and GitHub.
            </p>
            {webhooks && webhooks.length > 0 && add}
          </div>
          {error && !webhooks ? (
            <ErrorState title="Webhooks couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !webhooks ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : webhooks.length === 0 ? (
            <EmptyState icon={<WebhookIcon aria-hidden />} title="No webhooks yet" action={add}>
              {canManage
                ? "Create an address, and enter it at the service that should send its events here."
                : "Owners and admins can create webhooks."}
            </EmptyState>
          ) : (
            <WebhookTable
              webhooks={webhooks}
              received={open("received")}
              edit={open("edit")}
              rotate={open("rotate")}
              remove={open("remove")}
            />
          )}
        </div>
      </div>
      {adding && <NewWebhookDialog close={() => setAdding(false)} />}
      {Opened && <Opened webhook={opened.webhook} close={() => setOpened(null)} />}
    </>
  );
}

import { Inbox, Link2, Pencil, RefreshCw, Trash2 } from "lucide-react";
import type { Webhook } from "../../server/schemas/webhook.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { sources } from "./sources.ts";

type Actions = Record<"address" | "received" | "edit" | "rotate" | "remove", (webhook: Webhook) => void>;

/** On narrow screens each row is a small card, because the columns don't fit. */
export function WebhookTable({ webhooks, ...actions }: Actions & { webhooks: Webhook[] }) {
  const canManage = useCan()("webhooks:manage");
  return (
    <CardTable columns={["Name", "Channel", "Last received"]} hasActions={canManage}>
      {webhooks.map((webhook) => (
        <Row key={webhook.id} webhook={webhook} {...(canManage && { actions })} />
      ))}
    </CardTable>
  );
}

function Row({ webhook, actions }: { webhook: Webhook; actions?: Actions }) {
  const { name, source, channel, mapping, hasSecret, receivedAt, lastOutcome } = webhook;
  const { label, secretHint, isSecretOptional } = sources[source];
  return (
    <CardRow>
      <th scope="row" className="min-w-0 text-left font-medium">
        <span className="hostile">{name}</span>
        <span className="block font-normal text-muted text-xs">
          {label}
          {mapping !== null && sources[source].hasEvents && ", own mapping"}
        </span>
        {secretHint && !isSecretOptional && !hasSecret && (
          <span className="block font-normal text-danger text-xs">Its signing secret is missing</span>
        )}
      </th>
      <td className="hostile min-w-0 text-muted">
        <span className="@2xl:sr-only">Into </span>
        {channel}
      </td>
      <td className="text-muted">
        {receivedAt ? (
          <>
            <span className="@2xl:sr-only">Last received </span>
            <RelativeTime at={receivedAt} form="long" />
            {lastOutcome === "rejected" && <span className="block text-danger text-xs">It was rejected</span>}
          </>
        ) : (
          "Nothing received yet"
        )}
      </td>
      {actions && (
        <RowActions>
          <RowMenu
            name={name}
            actions={[
              { label: "Show the address…", icon: Link2, onSelect: () => actions.address(webhook) },
              { label: "Show what it received…", icon: Inbox, onSelect: () => actions.received(webhook) },
              { label: "Edit…", icon: Pencil, onSelect: () => actions.edit(webhook) },
              { label: "Replace the address…", icon: RefreshCw, onSelect: () => actions.rotate(webhook) },
              { label: "Delete…", icon: Trash2, danger: true, onSelect: () => actions.remove(webhook) },
            ]}
          />
        </RowActions>
      )}
    </CardRow>
  );
}

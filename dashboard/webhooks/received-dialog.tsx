import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { limits } from "../../server/core/limits.ts";
import type { Webhook, WebhookRequest } from "../../server/schemas/webhook.ts";
import { api, errorMessage } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { Dialog } from "../components/ui/dialog.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { webhookRequestsQuery } from "./webhooks.ts";

type Props = { webhook: Webhook; close: () => void };

/** The last requests of a webhook and their results. */
export function ReceivedDialog({ webhook, close }: Props) {
  const { data, error, refetch } = useQuery(webhookRequestsQuery(useProjectSlug(), webhook.id));
  return (
    <Dialog
      open
      wide
      dismissible
      onOpenChange={close}
      title={`Received by ${webhook.name}`}
      description={`The last ${limits.webhookRequests} requests, for ${limits.webhookRequestDays} days. After a change of the mapping, requests that were rejected or ignored can be sent again.`}
    >
      {error && !data ? (
        <ErrorState title="The requests couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-24 rounded-lg" />
      ) : data.length === 0 ? (
        <p className="py-6 text-center text-muted text-sm">No requests yet</p>
      ) : (
        <ul className="flex flex-col gap-2">
          {data.map((request) => (
            <Request key={request.id} webhook={webhook} request={request} />
          ))}
        </ul>
      )}
    </Dialog>
  );
}

const outcomes: Record<WebhookRequest["outcome"], [text: string, className: string]> = {
  recorded: ["Recorded", "text-good"],
  duplicate: ["Recorded before", "text-muted"],
  ignored: ["Ignored", "text-muted"],
  rejected: ["Rejected", "text-danger"],
};

function Request({ webhook, request }: { webhook: Webhook; request: WebhookRequest }) {
  const project = useProjectSlug();
  const { id, body, headers, outcome, eventId, detail, receivedAt } = request;
  const resend = useMutation({
    mutationFn: () =>
      api<{ ok: true; outcome: WebhookRequest["outcome"] }>(
        `/api/webhooks/${webhook.id}/requests/${id}/resend`,
        { method: "POST", query: { project } },
      ),
    onSuccess: () => refreshConnections(project, webhookRequestsQuery(project, webhook.id).queryKey),
  });
  const [text, className] = outcomes[outcome];
  const canResend = body !== null && (outcome === "rejected" || outcome === "ignored");
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line px-3 py-2.5">
      <div className="flex items-center justify-between gap-3 text-sm">
        <p>
          <span className={clsx("font-medium", className)}>{text}</span>{" "}
          <span className="text-muted text-xs">
            <RelativeTime at={receivedAt} form="long" />
          </span>
        </p>
        {eventId !== null && (
          <Link
            to="/p/$project/events/$id"
            params={{ project, id: eventId }}
            search={{}}
            className="text-accent text-xs hover:underline"
          >
            View event
          </Link>
        )}
        {canResend && (
          <Button busy={resend.isPending} onClick={() => resend.mutate()}>
            Send again
          </Button>
        )}
      </div>
      {detail !== null && <p className="hostile text-muted text-xs">{detail}</p>}
      {resend.error && (
        <p role="alert" className="hostile text-danger text-xs">
          {errorMessage(resend.error)}
        </p>
      )}
      {body === null ? (
        <p className="text-faint text-xs">The body was not kept.</p>
      ) : (
        <details>
          <summary className="cursor-pointer text-muted text-xs">Show the request</summary>
          <div className="mt-2">
            <CodeBlock label="Body and headers" code={textOf(headers, body)} />
          </div>
        </details>
      )}
    </li>
  );
}

function textOf(headers: Record<string, string>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${lines.join("\n")}\n\n${JSON.stringify(JSON.parse(body), null, 2)}`;
}

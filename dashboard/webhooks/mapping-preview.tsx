import { useQuery } from "@tanstack/react-query";
import type { WebhookPreviewResponse } from "../../server/schemas/webhook.ts";
import { errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { SelectField, TextField } from "../components/ui/field.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { type Sample, sampleOfRequest } from "./samples.ts";
import { webhookRequestsQuery } from "./webhooks.ts";

type Props = {
  /** The webhook that exists already, whose last requests can be used. */
  webhookId: string | null;
  sample: Sample;
  onSample: (sample: Sample) => void;
  preview: WebhookPreviewResponse | undefined;
  error: unknown;
};

/** A request, and the event that it would become. */
export function MappingPreview({ webhookId, sample, onSample, preview, error }: Props) {
  const bodyError = preview?.errors.find(({ pointer }) => pointer === "/body")?.detail;
  return (
    <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-0 lg:self-start">
      {webhookId !== null && <LastRequests webhookId={webhookId} sample={sample} onSample={onSample} />}
      <TextField
        label="A request's body"
        hint="Paste one, or change this."
        value={sample.body}
        onChange={(event) => onSample({ body: event.target.value, headers: sample.headers })}
        rows={10}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        className="[&_textarea]:font-mono [&_textarea]:text-xs"
        error={bodyError}
      />
      <section
        aria-label="Preview"
        className="flex flex-col gap-2 rounded-lg border border-line bg-canvas p-3"
      >
        <p role="status" className="font-medium text-sm">
          {error
            ? `No preview: ${errorMessage(error)}`
            : preview === undefined
              ? "Making the event…"
              : preview.event
                ? "Would become this event:"
                : preview.outcome === "ignored"
                  ? "Would be ignored: the condition is not met."
                  : "Would be rejected:"}
        </p>
        {!error && preview?.event && <PreviewedEvent event={preview.event} />}
        {!error && preview && preview.errors.length > 0 && (
          <ul className="flex flex-col gap-0.5 text-danger text-xs">
            {preview.errors.map(({ pointer, detail }) => (
              <li key={pointer + detail} className="hostile">
                {detail}
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}

function LastRequests({
  webhookId,
  sample,
  onSample,
}: Pick<Props, "sample" | "onSample"> & { webhookId: string }) {
  const { data = [] } = useQuery(webhookRequestsQuery(useProjectSlug(), webhookId));
  const usable = data.filter(({ body }) => body !== null);
  if (usable.length === 0) return null;
  return (
    <SelectField
      label="Try it on"
      value={sample.request ?? ""}
      onChange={(event) => {
        const request = usable.find(({ id }) => id === event.target.value);
        if (request) onSample(sampleOfRequest(request));
      }}
    >
      <option value="">What is entered below</option>
      {usable.map(({ id, receivedAt, outcome }, index) => (
        <option key={id} value={id}>
          {index === 0 ? "The last request received" : "A request"}: {formatDate(receivedAt, "medium")},{" "}
          {outcome}
        </option>
      ))}
    </SelectField>
  );
}

function PreviewedEvent({ event }: { event: NonNullable<WebhookPreviewResponse["event"]> }) {
  const { name = "", icon, channel, userId, notify, description, tags = {}, createdAt } = event;
  return (
    <div className="flex items-start gap-2.5">
      <EventIcon icon={icon} name={name} size="sm" />
      <div className="flex min-w-0 flex-1 flex-col gap-1 text-sm">
        <p className="hostile font-medium">{name}</p>
        <p className="hostile text-muted text-xs">
          {[channel, userId, notify && "notifies", createdAt !== undefined && timeText(createdAt)]
            .filter(Boolean)
            .join(" · ")}
        </p>
        {description && (
          <p className="hostile line-clamp-4 whitespace-pre-line text-muted text-xs">{description}</p>
        )}
        <ul className="flex flex-wrap gap-1">
          {Object.entries(tags).map(([key, value]) => (
            <li key={key} className="hostile max-w-full rounded bg-pressed px-1.5 py-0.5 text-xs">
              <span className="text-muted">{key}:</span> {value}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function timeText(createdAt: string | number): string {
  const date = new Date(createdAt);
  return Number.isNaN(date.getTime()) ? "" : formatDate(date.toISOString(), "medium");
}

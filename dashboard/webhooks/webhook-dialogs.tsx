import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Webhook, WebhookPreview, WebhookSource } from "../../server/schemas/webhook.ts";
import { api } from "../api.ts";
import { channelsQuery } from "../channels/channels.ts";
import { Dialog } from "../components/ui/dialog.tsx";
import { Field, SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { connectionsQuery, refreshConnections } from "../connections/connections.ts";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { AddressDialog } from "./address-dialog.tsx";
import { MappingFields } from "./mapping-fields.tsx";
import { MappingPreview } from "./mapping-preview.tsx";
import { type Sample, sampleFor, sampleOfRequest } from "./samples.ts";
import { sources } from "./sources.ts";
import { formOf, mappingOf, newForm, type WebhookForm, webhookOf, webhookParts } from "./webhook-form.ts";
import { webhookPreviewQuery, webhookRequestsQuery, webhooksQuery } from "./webhooks.ts";

/** How long nothing was typed before the preview is updated. */
const typingMs = 300;

/** Asks for a sender, then for the rest, and shows the address. */
export function NewWebhookDialog({ close }: { close: () => void }) {
  const [source, setSource] = useState<WebhookSource | null>(null);
  return source ? (
    <NewFromDialog source={source} back={() => setSource(null)} close={close} />
  ) : (
    <Dialog open wide onOpenChange={close} title="New webhook" description="Who will send to it?">
      <ul className="grid gap-2 sm:grid-cols-2">
        {(Object.keys(sources) as WebhookSource[]).map((each) => (
          <li key={each}>
            <button
              type="button"
              onClick={() => setSource(each)}
              className="w-full rounded-md border border-line-strong px-3 py-2 text-left hover:bg-hover"
            >
              <span className="block font-medium text-sm">{sources[each].label}</span>
              <span className="block text-muted text-xs">{sources[each].hint}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function NewFromDialog({
  source,
  back,
  close,
}: {
  source: WebhookSource;
  back: () => void;
  close: () => void;
}) {
  const project = useProjectSlug();
  const [form, setForm] = useState(() => newForm(source));
  const creation = useMutation({
    mutationFn: () => create(project, source, form),
    onSuccess: () => refreshConnections(project, webhooksQuery(project).queryKey),
  });
  if (creation.data) return <AddressDialog {...creation.data} close={close} />;
  return (
    <WebhookDialog
      title={`New webhook: ${sources[source].label}`}
      source={source}
      existing={null}
      form={form}
      onChange={setForm}
      error={creation.error}
      busy={creation.isPending}
      submit={() => creation.mutate()}
      action="Create webhook"
      back={back}
      close={close}
    />
  );
}

type Created = { webhook: Webhook; url: string };

function create(project: string, source: WebhookSource, form: WebhookForm): Promise<Created> {
  const body = { source, ...webhookOf(form) };
  return api("/api/webhooks", { method: "POST", query: { project }, body });
}

export function EditWebhookDialog({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const project = useProjectSlug();
  const [created, setCreated] = useState<Created>();
  const { form, change, error, isPending, submit, dialog } = useEdit<Webhook, WebhookForm, Created | null>({
    thing: webhook,
    what: "webhook",
    formOf,
    compare: byParts(webhookParts),
    keys: [webhooksQuery(project).queryKey, connectionsQuery(project).queryKey],
    async save(form, base) {
      const body = changedMembers(webhookOf(form), webhookOf(formOf(base)));
      if (Object.keys(body).length === 0) return null;
      const { version } = base;
      await api(`/api/webhooks/${webhook.id}`, { method: "PATCH", query: { project }, body, version });
      return null;
    },
    saved(again) {
      if (again) setCreated(again);
      else close();
    },
    gone: { code: "webhook-unknown", recreate: (form) => create(project, webhook.source, form) },
  });
  if (created) return <AddressDialog {...created} close={close} />;
  return (
    <>
      <WebhookDialog
        title="Edit webhook"
        source={webhook.source}
        existing={webhook}
        form={form}
        onChange={change}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={close}
      />
      {dialog}
    </>
  );
}

type Props = {
  title: string;
  source: WebhookSource;
  existing: Webhook | null;
  form: WebhookForm;
  onChange: (form: WebhookForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  back?: () => void;
  close: () => void;
};

/** Asks for a webhook's settings, and previews the event that a request becomes. */
function WebhookDialog({ source, existing, form, onChange, ...dialog }: Props) {
  const last = useLastRequest(existing);
  const [chosen, setSample] = useState<Sample>();
  const sample = chosen ?? last ?? sampleFor(source);
  const preview = usePreview(source, form, sample);
  const previewErrorOf = (pointer: string) =>
    preview.data?.errors.find((each) => each.pointer === pointer)?.detail;

  return (
    <FormDialog wide="columns" {...dialog}>
      <div className="grid gap-x-6 gap-y-5 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <SettingsFields source={source} existing={existing} form={form} onChange={onChange} />
          {form.isMapped && (
            <MappingFields
              mapping={form.mapping}
              onChange={(mapping) => onChange({ ...form, mapping })}
              errorOf={(field) => previewErrorOf(`/mapping/${field}`)}
            />
          )}
        </div>
        <MappingPreview
          webhookId={existing?.id ?? null}
          sample={sample}
          onSample={setSample}
          preview={preview.data}
          error={preview.error}
        />
      </div>
    </FormDialog>
  );
}

type SettingsFieldsProps = {
  source: WebhookSource;
  existing: Webhook | null;
  form: WebhookForm;
  onChange: (form: WebhookForm) => void;
};

function SettingsFields({ source, existing, form, onChange }: SettingsFieldsProps) {
  const { data: channels = [] } = useQuery(channelsQuery(useProjectSlug()));
  const channelList = useId();
  const { secretHint, isSecretOptional, hasEvents } = sources[source];
  const withoutSecret = isSecretOptional
    ? "Without it, whoever has the address can send."
    : "Requests are refused until you enter it here.";
  const kept = existing?.hasSecret ? "Leave it empty to keep the one that is saved." : "";
  return (
    <>
      <Field
        label="Name"
        value={form.name}
        onChange={(event) => onChange({ ...form, name: event.target.value })}
        required
        maxLength={limits.webhookNameCharacters}
        placeholder="Shop payments"
        autoComplete="off"
        member="name"
      />
      <Field
        label="Channel"
        value={form.channel}
        onChange={(event) => onChange({ ...form, channel: event.target.value })}
        required
        maxLength={limits.channelCharacters}
        placeholder="payments"
        autoComplete="off"
        list={channelList}
        member="channel"
      />
      <datalist id={channelList}>
        {channels.map(({ id }) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      {source === "hmac" && (
        <Field
          label="Header with the signature"
          value={form.signatureHeader}
          onChange={(event) => onChange({ ...form, signatureHeader: event.target.value })}
          maxLength={limits.webhookHeaderCharacters}
          placeholder="x-signature"
          autoComplete="off"
          member="signatureHeader"
        />
      )}
      {secretHint && (
        <Field
          label="Signing secret"
          type="password"
          value={form.secret}
          onChange={(event) => onChange({ ...form, secret: event.target.value })}
          maxLength={limits.webhookSecretCharacters}
          // Not "off", which browsers ignore for passwords.
          autoComplete="new-password"
          hint={`${secretHint} ${kept || withoutSecret}`}
          member="secret"
        />
      )}
      {hasEvents && (
        <SelectField
          label="Events"
          value={form.isMapped ? "mapped" : "ready"}
          onChange={(event) => onChange({ ...form, isMapped: event.target.value === "mapped" })}
        >
          <option value="ready">Ready-made</option>
          <option value="mapped">With my own mapping</option>
        </SelectField>
      )}
    </>
  );
}

/** The newest request of a webhook, if there is one to try a mapping on. */
function useLastRequest(webhook: Webhook | null): Sample | undefined {
  const { data } = useQuery({
    ...webhookRequestsQuery(useProjectSlug(), webhook?.id ?? ""),
    enabled: webhook !== null,
  });
  const request = data?.find(({ body }) => body !== null);
  return request && sampleOfRequest(request);
}

/** The event of the sample, once typing has paused. */
function usePreview(source: WebhookSource, form: WebhookForm, sample: Sample) {
  const { body, headers, request } = sample;
  const json = JSON.stringify({
    source,
    // An empty one is a mistake, but not one to tell about before anything is typed.
    channel: form.channel.trim() || "channel",
    mapping: mappingOf(form),
    ...(request === undefined ? { body, headers } : { request }),
  } satisfies WebhookPreview);
  const [typed, setTyped] = useState(json);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(json), typingMs);
    return () => clearTimeout(timer);
  }, [json]);
  return useQuery({
    ...webhookPreviewQuery(useProjectSlug(), JSON.parse(typed) as WebhookPreview),
    placeholderData: keepPreviousData,
  });
}

import type { Webhook, WebhookMapping, WebhookSource } from "../../server/wire/webhook.ts";
import { sources } from "./webhooks.ts";

/** What the form for a webhook holds. */
export type WebhookForm = {
  name: string;
  channel: string;
  secret: string;
  signatureHeader: string;
  /** Whether the mapping below applies, and not the source's own events. */
  isMapped: boolean;
  mapping: MappingForm;
};

export type MappingForm = Record<MappingText, string> & {
  notify: "never" | "always" | "when";
  notifyWhen: string;
  tags: { id: number; key: string; value: string }[];
};

export type MappingText = "when" | "name" | "userId" | "icon" | "description" | "createdAt" | "id";

const noTexts: Record<MappingText, string> = {
  when: "",
  name: "",
  userId: "",
  icon: "",
  description: "",
  createdAt: "",
  id: "",
};

export function newForm(source: WebhookSource): WebhookForm {
  return {
    name: "",
    channel: "",
    secret: "",
    signatureHeader: "",
    isMapped: !sources[source].hasEvents,
    mapping: mappingForm(
      source === "github"
        ? { name: "{{@x-github-event}}" }
        : { name: "{{type}}", ...(source !== "stripe" && { userId: "{{customer.id}}" }) },
    ),
  };
}

export function formOf({ name, channel, signatureHeader, mapping, source }: Webhook): WebhookForm {
  return {
    ...newForm(source),
    name,
    channel,
    signatureHeader: signatureHeader ?? "",
    isMapped: mapping !== null,
    ...(mapping && { mapping: mappingForm(mapping) }),
  };
}

function mappingForm({ notify = false, tags = {}, ...texts }: WebhookMapping): MappingForm {
  return {
    ...noTexts,
    ...texts,
    notify: typeof notify === "string" ? "when" : notify ? "always" : "never",
    notifyWhen: typeof notify === "string" ? notify : "",
    tags: Object.entries(tags).map(([key, value], id) => ({ id, key, value })),
  };
}

/** What the form says, as the API takes it. What is blank is left out. */
export function webhookOf(form: WebhookForm) {
  return {
    name: form.name.trim(),
    channel: form.channel.trim(),
    mapping: mappingOf(form),
    ...(form.secret.trim() && { secret: form.secret.trim() }),
    ...(form.signatureHeader.trim() && { signatureHeader: form.signatureHeader.trim() }),
  };
}

export function mappingOf({ isMapped, mapping }: WebhookForm): WebhookMapping | null {
  if (!isMapped) return null;
  const { notify, notifyWhen, tags, ...texts } = mapping;
  const filled = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ""));
  const named = tags.filter(({ key }) => key.trim() !== "");
  return {
    ...filled,
    name: mapping.name,
    ...(notify !== "never" && { notify: notify === "always" || notifyWhen }),
    ...(named.length > 0 && { tags: Object.fromEntries(named.map(({ key, value }) => [key.trim(), value])) }),
  };
}

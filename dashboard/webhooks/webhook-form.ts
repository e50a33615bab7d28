import { withChange } from "../../server/core/with-change.ts";
import type { Webhook, WebhookMapping, WebhookSource } from "../../server/schemas/webhook.ts";
import { orNone, type Part, part, whoChanged } from "../edits/differences.ts";
import { sources } from "./sources.ts";

/** The values of the form for a webhook. */
export type WebhookForm = {
  name: string;
  channel: string;
  secret: string;
  /**
   * Identifies the saved secret: it differs for another secret, and may differ for the same one. Null if none is saved.
   */
  savedSecret: string | null;
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

/** What a mapping begins with. */
const firstMappings: Partial<Record<WebhookSource, WebhookMapping>> = {
  stripe: { name: "{{type}}" },
  github: { name: "{{@x-github-event}}" },
  sentry: { name: "{{@sentry-hook-resource}} {{action}}" },
  alertmanager: { name: "{{labels.alertname}}" },
  grafana: { name: "{{labels.alertname}}" },
  "uptime-kuma": { name: "{{monitor.name}}" },
  vercel: { name: "{{message}}" },
  netlify: { name: "{{message}}" },
  heroku: { name: "{{message}}" },
  cloudflare: { name: "{{ClientRequestMethod}}" },
};

export function newForm(source: WebhookSource): WebhookForm {
  return {
    name: "",
    channel: "",
    secret: "",
    savedSecret: null,
    signatureHeader: "",
    isMapped: !sources[source].hasEvents,
    mapping: mappingForm(firstMappings[source] ?? { name: "{{type}}", userId: "{{customer.id}}" }),
  };
}

export function formOf(webhook: Webhook): WebhookForm {
  const { name, channel, signatureHeader, mapping, source, hasSecret, version } = webhook;
  return {
    ...newForm(source),
    name,
    channel,
    savedSecret: hasSecret ? version : null,
    signatureHeader: signatureHeader ?? "",
    isMapped: mapping !== null,
    ...(mapping && { mapping: mappingForm(mapping) }),
  };
}

function mappingForm({ notify = false, tags = {}, ...texts }: WebhookMapping): MappingForm {
  return {
    ...withChange(noTexts, texts),
    notify: typeof notify === "string" ? "when" : notify ? "always" : "never",
    notifyWhen: typeof notify === "string" ? notify : "",
    tags: Object.entries(tags).map(([key, value], id) => ({ id, key, value })),
  };
}

/** The form's values as a request's body, without blank ones. */
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

/** The parts of a webhook, for when two people have changed it. */
export const webhookParts: Part<WebhookForm>[] = [
  part("Name", ["name"], ({ name }) => name),
  part("Channel", ["channel"], ({ channel }) => channel),
  part("Header with the signature", ["signatureHeader"], ({ signatureHeader }) => orNone(signatureHeader)),
  {
    // It isn't shown, so any other version may have another one.
    ...part<WebhookForm>("Signing secret", ["secret", "savedSecret"], ({ secret, savedSecret }) =>
      secret ? "The one that you entered" : savedSecret === null ? "None" : "The one that is saved",
    ),
    changedBy(base, mine, theirs) {
      if (!mine.secret) return null;
      return base.savedSecret === theirs.savedSecret ? "mine" : "both";
    },
  },
  {
    label: "Events",
    value: ({ isMapped }) => isMapped,
    text: ({ isMapped }) => (isMapped ? "With my own mapping" : "Ready-made"),
    take: (mine, { isMapped, mapping }) => ({ ...mine, isMapped, mapping }),
  },
  mappingPart("Only if", ["when"], ({ when }) => orNone(when)),
  mappingPart("Event name", ["name"], ({ name }) => name),
  mappingPart("User", ["userId"], ({ userId }) => orNone(userId)),
  mappingPart("Icon", ["icon"], ({ icon }) => orNone(icon)),
  mappingPart("Description", ["description"], ({ description }) => orNone(description)),
  mappingPart("Tags", ["tags"], ({ tags }) =>
    orNone(tags.map(({ key, value }) => `${key} = ${value}`).join("\n")),
  ),
  mappingPart("Notify", ["notify", "notifyWhen"], ({ notify, notifyWhen }) =>
    notify === "when" ? `If ${notifyWhen}` : notify === "always" ? "Always" : "Never",
  ),
  mappingPart("Time", ["createdAt"], ({ createdAt }) => orNone(createdAt, "The time of arrival")),
  mappingPart("Delivery ID", ["id"], ({ id }) => orNone(id, "The sender's own")),
];

/** A part of the mapping. Without a mapping on one of the sides, it is compared as a whole. */
function mappingPart(
  label: string,
  fields: (keyof MappingForm)[],
  text: (mapping: MappingForm) => string,
): Part<WebhookForm> {
  const { value, take } = part<MappingForm>(label, fields, text);
  return {
    label,
    value: ({ mapping }) => value(mapping),
    text: ({ mapping }) => text(mapping),
    take: (mine, theirs) => ({ ...mine, mapping: take(mine.mapping, theirs.mapping) }),
    changedBy: (...forms) =>
      forms.every(({ isMapped }) => isMapped)
        ? whoChanged(...(forms.map(({ mapping }) => value(mapping)) as [unknown, unknown, unknown]))
        : null,
  };
}

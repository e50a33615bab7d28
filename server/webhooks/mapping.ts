import { createHash } from "node:crypto";
import { limits } from "../core/limits.ts";
import { type Fault, pointerTo } from "../core/problems.ts";
import { isEventId } from "../event/id.ts";
import type { WebhookMapping } from "../schemas/webhook.ts";
import {
  type Condition,
  compileCondition,
  compileTemplate,
  ExpressionError,
  type MappingInput,
  type Template,
  textOf,
} from "./expression.ts";

/** A mapping that is ready to use: its templates and conditions are functions. */
export type CompiledMapping = {
  when: Condition;
  notify: Condition;
  texts: Map<TextMember, Template>;
  tags: [key: string, template: Template][];
};

type TextMember = (typeof textMembers)[number];
const textMembers = ["name", "userId", "icon", "description", "createdAt", "id"] as const;

/** An event that isn't checked yet, and the text that tells its delivery apart, if the mapping names one. */
export type MappedEvent = { fields: Record<string, unknown>; deliveryId: string | null };

const spaces = /[\p{Cc}\s]+/gu;
/** Control characters, except for those that descriptions and tags may contain. */
const controlsInLines = /(?![\t\n])[\p{Cc}]/gu;
const ellipsis = "…";
/** Smaller numbers are seconds: in milliseconds, they would be dates in early 1970. */
const secondsMax = 10_000_000_000;

/** Returns the mistakes instead, with pointers into the mapping, such as `/tags/amount`. */
export function compileMapping(mapping: WebhookMapping): CompiledMapping | Fault[] {
  const faults: Fault[] = [];
  const compile = <Result>(path: string[], compileText: (text: string) => Result, text: string) => {
    try {
      return compileText(text);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      faults.push({ pointer: pointerTo(...path), detail: `"${path.join(".")}" ${error.message}.` });
      return undefined;
    }
  };
  const { when, notify = false, tags = {} } = mapping;
  const compiled: CompiledMapping = {
    when: isBlank(when) ? () => true : (compile(["when"], compileCondition, when) ?? (() => false)),
    notify:
      typeof notify === "boolean"
        ? () => notify
        : isBlank(notify)
          ? () => false
          : (compile(["notify"], compileCondition, notify) ?? (() => false)),
    texts: new Map(),
    tags: [],
  };
  for (const member of textMembers) {
    const text = mapping[member];
    const template = isBlank(text) ? undefined : compile([member], compileTemplate, text);
    if (template) compiled.texts.set(member, template);
  }
  for (const [key, text] of Object.entries(tags)) {
    const template = compile(["tags", key], compileTemplate, text);
    if (template) compiled.tags.push([key, template]);
  }
  if (isBlank(mapping.name)) faults.push({ pointer: "/name", detail: '"name" must not be blank.' });
  return faults.length > 0 ? faults : compiled;
}

/** What the first mapping whose condition is met makes of a request; null if none is met: the request is ignored. */
export function mapEvent(
  mappings: readonly CompiledMapping[],
  input: MappingInput,
  channel: string,
): MappedEvent | null {
  const mapping = mappings.find(({ when }) => when(input));
  if (!mapping) return null;
  const valueIn = (member: TextMember) => mapping.texts.get(member)?.(input);
  const icon = textOf(valueIn("icon"));
  const userId = textOf(valueIn("userId"));
  const tags = mapping.tags.flatMap(([key, template]) => {
    const value = textOf(template(input));
    return value === undefined ? [] : [[key, inLines(value, limits.tagValueCharacters)] as const];
  });
  const description = textOf(valueIn("description"));
  const fields: Record<string, unknown> = {
    channel,
    name: inOneLine(textOf(valueIn("name")) ?? "", limits.nameCharacters) || undefined,
    userId: userId?.toWellFormed(),
    icon: icon === undefined ? undefined : inOneLine(icon, limits.iconCharacters),
    notify: mapping.notify(input) || undefined,
    tags: tags.length > 0 ? Object.fromEntries(tags) : undefined,
    description: description === undefined ? undefined : inLines(description, limits.descriptionCharacters),
    createdAt: timeOf(valueIn("createdAt")),
  };
  for (const field of Object.keys(fields)) if (fields[field] === undefined) delete fields[field];
  return { fields, deliveryId: textOf(valueIn("id")) || null };
}

/**
 * The id of a delivery's event. A UUIDv7 stays as it is. Others become one of 74 hashed bits and the webhook's own
 * time, because a repeated delivery arrives at another one.
 *
 * Invariant: a delivery that is sent again has the same event id, so it is recorded once. Checked by
 * `server/webhooks/mapping.test.ts` and `server/webhooks/webhooks.test.ts`.
 */
export function eventIdOfDelivery(deliveryId: string, webhook: { id: string; createdAt: number }): string {
  const own = deliveryId.toLowerCase();
  if (isEventId(own)) return own;
  const time = webhook.createdAt.toString(16).padStart(12, "0");
  const hash = createHash("sha256").update(`${webhook.id} ${deliveryId}`).digest("hex");
  const variant = ((Number.parseInt(hash[3]!, 16) & 3) | 8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}

function timeOf(value: unknown): unknown {
  if (value === undefined || value === null || value === "") return undefined;
  const isNumeric = typeof value === "number" || (typeof value === "string" && /^\d+(\.\d+)?$/.test(value));
  if (!isNumeric) return textOf(value);
  const number = Number(value);
  return Math.round(number < secondsMax ? number * 1_000 : number);
}

function inOneLine(text: string, max: number): string {
  return shortened(text.replace(spaces, " ").trim(), max);
}

function inLines(text: string, max: number): string {
  return shortened(text.replaceAll("\r\n", "\n").replace(controlsInLines, " "), max);
}

/** Others' texts are as long as they are, so they are shortened, by code points, instead of rejected. */
function shortened(text: string, max: number): string {
  const wellFormed = text.toWellFormed();
  if (wellFormed.length <= max) return wellFormed;
  const points = [...wellFormed.slice(0, 2 * max + 2)];
  return points.length <= max ? wellFormed : points.slice(0, max - 1).join("") + ellipsis;
}

function isBlank(text: string | undefined): text is undefined | "" {
  return text === undefined || text.trim() === "";
}

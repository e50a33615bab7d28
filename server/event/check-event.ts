import { limits } from "../core/limits.ts";
import { clipped, type Fault, pointerTo } from "../core/problems.ts";
import { kindOf } from "../validation/messages.ts";
import { nearest } from "../validation/nearest.ts";
import { faultInText, type TextRule } from "../validation/text-rule.ts";
import { readCreatedAt } from "./created-at.ts";
import { eventTexts, NewEvent } from "./event.ts";
import { isEventId } from "./id.ts";

/** A valid event, with one spelling of each field and defaults filled in. */
export type CheckedEvent = {
  channel: string;
  name: string;
  userId: string;
  icon: string | undefined;
  notify: boolean;
  tags: Record<string, string>;
  event: string | undefined;
  description: string | undefined;
  id: string | undefined;
  /** Milliseconds since 1970; undefined if the client didn't send it. */
  createdAtMs: number | undefined;
};

const knownFields = new Set(Object.keys(NewEvent.shape));
/** Unknown fields that are reported at once. A body can have a hundred thousand. */
const unknownFieldsMax = 20;
const noTags: Record<string, string> = Object.freeze({});

/**
 * Checks an event's body like the schema `NewEvent`, ten times faster and with better messages. A property test
 * compares the two.
 *
 * @param nowMs - milliseconds since 1970, to limit `createdAt`
 */
export function checkEvent(body: unknown, nowMs: number): CheckedEvent | Fault[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return [{ pointer: "", detail: "The body must be a JSON object: one event." }];
  }
  const fields = body as Record<string, unknown>;
  const faults: Fault[] = [];

  for (const field in fields) {
    if (knownFields.has(field)) continue;
    const suggestion = nearest(field, knownFields);
    faults.push({
      pointer: pointerTo(field),
      detail: `Unknown field "${clipped(field)}".${suggestion ? ` Did you mean "${suggestion}"?` : ""}`,
    });
    if (faults.length >= unknownFieldsMax) break;
  }

  const channel = textOf("channel", eventTexts.channel);
  const ownName = textOf("name", eventTexts.name);
  const event = textOf("event", eventTexts.event);
  const name = ownName ?? event;
  if (fields.channel === undefined) faults.push(missing("channel", '"payments"'));
  if (fields.name === undefined && fields.event === undefined) {
    faults.push(missing("name", '"Payment received"'));
  }

  const userId = textOf("userId", eventTexts.userId);
  const otherUserId = textOf("user_id", eventTexts.user_id);
  if (userId !== undefined && otherUserId !== undefined && userId !== otherUserId) {
    faults.push({ pointer: "/user_id", detail: '"userId" and "user_id" differ. Send only one of them.' });
  }
  const icon = textOf("icon", eventTexts.icon);
  const description = textOf("description", eventTexts.description);

  const { notify } = fields;
  if (notify !== undefined && typeof notify !== "boolean") {
    faults.push({ pointer: "/notify", detail: `"notify" must be true or false, not ${kindOf(notify)}.` });
  }

  const tags = fields.tags === undefined ? noTags : checkTags(fields.tags, faults);
  const id = fields.id === undefined ? undefined : checkId(fields.id, faults);
  const createdAtMs =
    fields.createdAt === undefined ? undefined : checkCreatedAt(fields.createdAt, nowMs, faults);

  if (faults.length > 0) return faults;
  return {
    channel: channel!,
    name: name!,
    userId: userId ?? otherUserId ?? "",
    icon,
    notify: notify === true,
    tags,
    event: ownName === undefined ? undefined : event,
    description,
    id,
    createdAtMs,
  };

  function textOf(field: keyof typeof NewEvent.shape, rule: TextRule): string | undefined {
    const value = fields[field];
    if (value === undefined) return undefined;
    const fault =
      typeof value === "string" ? faultInText(value, rule) : `must be a string, not ${kindOf(value)}`;
    if (fault === null) return value as string;
    faults.push({ pointer: pointerTo(field), detail: `"${field}" ${fault}.` });
    return undefined;
  }
}

function checkTags(tags: unknown, faults: Fault[]): Record<string, string> {
  if (typeof tags !== "object" || tags === null || Array.isArray(tags)) {
    faults.push({ pointer: "/tags", detail: `"tags" must be an object, not ${kindOf(tags)}.` });
    return noTags;
  }
  const values = tags as Record<string, unknown>;
  let count = 0;
  for (const key in values) {
    if (++count > limits.tags) {
      faults.push({
        pointer: "/tags",
        detail: `An event can have at most ${limits.tags} tags, not ${Object.keys(tags).length}.`,
      });
      break;
    }
    const value = values[key];
    const keyFault = faultInText(key, eventTexts.tagKey);
    if (keyFault) faults.push({ pointer: pointerTo("tags", key), detail: `A tag key ${keyFault}.` });
    if (typeof value !== "string") {
      const hint = typeof value === "number" || typeof value === "boolean" ? ` Send it as "${value}".` : "";
      faults.push({
        pointer: pointerTo("tags", key),
        detail: `The tag "${clipped(key)}" must be a string, not ${kindOf(value)}.${hint}`,
      });
      continue;
    }
    const valueFault = faultInText(value, eventTexts.tagValue);
    if (valueFault)
      faults.push({ pointer: pointerTo("tags", key), detail: `The tag "${clipped(key)}" ${valueFault}.` });
  }
  return values as Record<string, string>;
}

function checkId(id: unknown, faults: Fault[]): string | undefined {
  const lower = typeof id === "string" ? id.toLowerCase() : "";
  if (isEventId(lower)) return lower;
  faults.push({
    pointer: "/id",
    detail:
      '"id" must be a UUIDv7, such as "0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f". Omit it and the server creates one.',
  });
  return undefined;
}

function checkCreatedAt(value: unknown, nowMs: number, faults: Fault[]): number | undefined {
  const ms = readCreatedAt(value, nowMs);
  if (typeof ms === "number") return ms;
  faults.push({ pointer: "/createdAt", detail: `"createdAt" ${ms}.` });
  return undefined;
}

function missing(field: string, example: string): Fault {
  return { pointer: `/${field}`, detail: `"${field}" is missing. Send a string, such as ${example}.` };
}

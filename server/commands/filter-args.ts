import { timestamp } from "../event/event-query.ts";
import { ArgumentError } from "./with-store.ts";

/** The options that choose events. */
export const filterArgs = {
  q: { type: "string", description: "Only events that match this search (docs/search.md)", valueHint: "Q" },
  channel: { type: "string", description: "Only events of this channel", valueHint: "C" },
  from: {
    type: "string",
    description: "Start, inclusive: a time (2030-01-31T09:30:00Z), a day, or how long ago (90m, 24h, 7d, 4w)",
    valueHint: "T",
  },
  to: { type: "string", description: "End, exclusive, written like --from", valueHint: "T" },
} as const;

export type FilterValues = {
  q?: string | undefined;
  channel?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
/** Such as `24h`, `10 minutes` or `10 minutes ago`. */
const agoPattern = /^(\d{1,6}) ?(?:([smhdw])|(second|minute|hour|day|week)s?)(?: ago)?$/;

/** The parameters of a request for the events that a command's options choose. */
export function filterQuery({ q, channel, from, to }: FilterValues, nowMs = Date.now()): URLSearchParams {
  const query = new URLSearchParams();
  if (q !== undefined) query.set("q", q);
  if (channel !== undefined) query.set("channel", channel);
  if (from !== undefined) query.set("from", timeOf("--from", from, nowMs));
  if (to !== undefined) query.set("to", timeOf("--to", to, nowMs));
  return query;
}

/** An ISO 8601 time, or how long ago. Throws an ArgumentError that says what is expected. */
export function timeOf(option: string, text: string, nowMs: number): string {
  const [, amount, letter, word] = agoPattern.exec(text.trim()) ?? [];
  const unit = (letter ?? word?.[0]) as keyof typeof unitMs | undefined;
  if (unit) return new Date(nowMs - Number(amount) * unitMs[unit]).toISOString();
  const { error } = timestamp.safeParse(text);
  if (error) throw new ArgumentError(`${option} ${error.issues[0]!.message}, or how long ago, such as 24h.`);
  return text;
}

/** A whole number of at least 1. */
export function countOf(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
    throw new ArgumentError(`${option} must be a whole number, at least 1.`);
  return Number(text);
}

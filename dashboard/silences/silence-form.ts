import type { Silence } from "../../server/schemas/silence.ts";
import { formatDate } from "../components/dates.ts";
import { dayStart, momentOf, wallAt } from "../components/zone.ts";
import { orNone, type Part, part } from "../edits/differences.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const morningHour = 8;

/** How long a silence lasts. `custom` ends at a time that is entered. */
export const lengths = {
  "1h": "1 hour",
  "4h": "4 hours",
  morning: "Until tomorrow morning",
  custom: "Until…",
} as const;
export type Length = keyof typeof lengths;

/** The fields of the form for a silence. Times are those of the wall clock, as `datetime-local` has them. */
export type SilenceForm = {
  reason: string;
  isLater: boolean;
  from: string;
  length: Length;
  to: string;
  q: string;
  /** Whether it covers only some rules. */
  isOfRules: boolean;
  rules: string[];
};

export function newSilenceForm(): SilenceForm {
  const nowMs = Date.now();
  return {
    reason: "",
    isLater: false,
    from: wallText(nowMs + hourMs),
    length: "1h",
    to: wallText(nowMs + 2 * hourMs),
    q: "",
    isOfRules: false,
    rules: [],
  };
}

export function formOf({ reason, from, to, q, rules }: Silence): SilenceForm {
  return {
    reason,
    isLater: true,
    from: wallText(Date.parse(from)),
    length: "custom",
    to: wallText(Date.parse(to)),
    q,
    isOfRules: rules.length > 0,
    rules,
  };
}

/** The request's body; times that are not complete are missing in it. */
export function silenceOf(form: SilenceForm) {
  const { reason, isLater, from, q, isOfRules, rules } = form;
  const startMs = isLater ? momentOfText(from) : Date.now();
  const endMs = endOf(form, startMs);
  return {
    reason: reason.trim(),
    q: q.trim(),
    rules: isOfRules ? rules : [],
    ...(isLater && { from: isoOf(startMs) }),
    to: isoOf(endMs),
  };
}

/** When it ends; NaN while a time is missing. */
function endOf({ length, to }: SilenceForm, startMs: number): number {
  switch (length) {
    case "1h":
      return startMs + hourMs;
    case "4h":
      return startMs + 4 * hourMs;
    case "morning":
      return Number.isNaN(startMs)
        ? startMs
        : momentOf(wallAt(dayStart(startMs, 1)).getTime() + morningHour * hourMs);
    case "custom":
      return momentOfText(to);
  }
}

/** The parts of a silence, for when two people have changed it. */
export const silenceParts: Part<SilenceForm>[] = [
  part("Reason", ["reason"], ({ reason }) => reason),
  part("Begins", ["isLater", "from"], ({ from }) => timeText(from)),
  part("Ends", ["length", "to"], ({ to }) => timeText(to)),
  part("Events", ["q"], ({ q }) => orNone(q)),
  part("Rules", ["isOfRules", "rules"], ({ isOfRules, rules }) =>
    isOfRules ? `${rules.length} rules` : "All rules",
  ),
];

/** "2026-11-08T14:05" on the page's wall clock. */
function wallText(ms: number): string {
  return wallAt(ms).toISOString().slice(0, 16);
}

function momentOfText(text: string): number {
  const wallMs = Date.parse(`${text}Z`);
  return Number.isNaN(wallMs) ? wallMs : momentOf(wallMs);
}

function timeText(text: string): string {
  const ms = momentOfText(text);
  return Number.isNaN(ms) ? "Incomplete" : formatDate(ms, "soon");
}

function isoOf(ms: number): string | undefined {
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

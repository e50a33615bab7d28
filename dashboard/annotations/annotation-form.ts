import type { Annotation } from "../../server/schemas/annotation.ts";
import { formatDate } from "../components/dates.ts";
import { dayText, momentOf, wallAt } from "../components/zone.ts";
import { orNone, type Part, part } from "../edits/differences.ts";

/** The fields of the form for an annotation. They keep their values when the other type is chosen. */
export type AnnotationForm = {
  type: Annotation["type"];
  name: string;
  icon: string;
  color: number;
  q: string;
  enabled: boolean;
  /** Of a note: whether it is of a whole day. */
  isDay: boolean;
  day: string;
  /** On the page's wall clock, as `datetime-local` has it. */
  moment: string;
  /** Empty: all charts of the project. */
  board: string;
};

/** Where a note is written: on a chart. */
export type NotePlace = { at: Date; board?: string | undefined };

export function newAnnotationForm(place?: NotePlace): AnnotationForm {
  const atMs = place?.at.getTime() ?? Date.now();
  return {
    type: place ? "note" : "events",
    name: "",
    icon: "",
    color: 1,
    q: "",
    enabled: true,
    // A bucket of a chart by day begins with the day.
    isDay: place === undefined || momentText(atMs).endsWith("T00:00"),
    day: dayText(atMs),
    moment: momentText(atMs),
    board: place?.board ?? "",
  };
}

export function formOf(annotation: Annotation): AnnotationForm {
  const { type, name, icon, color } = annotation;
  const form = { ...newAnnotationForm(), type, name, icon: icon ?? "", color };
  if (annotation.type === "events") return { ...form, q: annotation.q, enabled: annotation.enabled };
  const { at, board } = annotation;
  const isDay = !at.includes("T");
  return {
    ...form,
    isDay,
    ...(isDay ? { day: at } : { day: dayText(Date.parse(at)), moment: momentText(Date.parse(at)) }),
    board: board ?? "",
  };
}

/** The body of a request for the form. A time that isn't complete is missing in it. */
export function annotationOf(form: AnnotationForm) {
  const { name, icon, color, q, enabled, board } = form;
  const shared = { name: name.trim(), icon: icon.trim() || null, color };
  if (form.type === "events") return { ...shared, q: q.trim(), enabled };
  return { ...shared, at: timeOf(form), board: board || null };
}

function timeOf({ isDay, day, moment }: AnnotationForm): string | undefined {
  if (isDay) return day || undefined;
  const wallMs = Date.parse(`${moment}Z`);
  return Number.isNaN(wallMs) ? undefined : new Date(momentOf(wallMs)).toISOString();
}

/** The parts of an annotation, for when two people have changed it. */
export const annotationParts: Part<AnnotationForm>[] = [
  part("Name", ["name"], ({ name }) => name),
  part("Icon", ["icon"], ({ icon }) => orNone(icon)),
  part("Color", ["color"], ({ color }) => `Color ${color}`),
  part("Events", ["q"], ({ q }) => orNone(q)),
  part("Shown", ["enabled"], ({ enabled }) => (enabled ? "On" : "Off")),
  part("Time", ["isDay", "day", "moment"], (form) => noteTimeText(timeOf(form) ?? "")),
  part("Charts", ["board"], ({ board }) => (board ? "Of one board" : "All")),
];

/** "Fri, Nov 27, 2:05 PM", or "Friday, November 27" for a day. */
export function noteTimeText(at: string): string {
  if (at === "") return "Incomplete";
  if (at.includes("T")) return formatDate(at, "soon");
  // At noon it is the same day in the page's time zone.
  return formatDate(momentOf(Date.parse(`${at}T12:00:00Z`)), "long");
}

function momentText(ms: number): string {
  return wallAt(ms).toISOString().slice(0, 16);
}

import { parseAccept } from "hono/utils/accept";

/** How a listing's events are written: as JSON texts, as lines of JSON, or as rows of CSV (csv.ts). */
export type EventForm = "json" | "ndjson" | "csv";

/** The media type of each form of a listing; the first is what a caller gets who does not care. */
export const mediaTypes: Record<EventForm, string> = {
  json: "application/json",
  ndjson: "application/x-ndjson",
  csv: "text/csv",
};

/** The form that an `Accept` header wants most (RFC 9110, section 12.5.1); JSON where it wants none of them. */
export function acceptedForm(accept: string | null): EventForm {
  const ranges = parseAccept(accept ?? "");
  let best: { form: EventForm; q: number; closeness: number } = { form: "json", q: 0, closeness: 0 };
  for (const form of ["json", "ndjson", "csv"] as const) {
    const mediaType = mediaTypes[form];
    const byCloseness = ["*/*", `${mediaType.split("/")[0]}/*`, mediaType];
    // The closest range says how much a type is wanted; of two that are wanted alike, the one that is named goes first.
    let wanted = { q: 0, closeness: -1 };
    for (const { type, q } of ranges) {
      const closeness = byCloseness.indexOf(type.toLowerCase());
      if (closeness > wanted.closeness) wanted = { q, closeness };
    }
    const { q, closeness } = wanted;
    if (q > best.q || (q === best.q && q > 0 && closeness > best.closeness)) best = { form, q, closeness };
  }
  return best.form;
}

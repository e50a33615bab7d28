import { parseAccept } from "hono/utils/accept";

/** Format of a listing: JSON, lines of JSON, or CSV rows (csv.ts). */
export type EventForm = "json" | "ndjson" | "csv";

/** Media types. The first is the default. */
export const mediaTypes: Record<EventForm, string> = {
  json: "application/json",
  ndjson: "application/x-ndjson",
  csv: "text/csv",
};

/** The format that an `Accept` header prefers (RFC 9110, section 12.5.1); JSON if it accepts none of them. */
export function acceptedForm(accept: string | null): EventForm {
  const ranges = parseAccept(accept ?? "");
  let best: { form: EventForm; q: number; specificity: number } = { form: "json", q: 0, specificity: 0 };
  for (const form of ["json", "ndjson", "csv"] as const) {
    const mediaType = mediaTypes[form];
    const bySpecificity = ["*/*", `${mediaType.split("/")[0]}/*`, mediaType];
    // The most specific range gives a type's weight. Between equal weights, the type that is named more specifically
    // wins.
    let match = { q: 0, specificity: -1 };
    for (const { type, q } of ranges) {
      const specificity = bySpecificity.indexOf(type.toLowerCase());
      if (specificity > match.specificity) match = { q, specificity };
    }
    const { q, specificity } = match;
    const isBetter = q > best.q || (q === best.q && q > 0 && specificity > best.specificity);
    if (isBetter) best = { form, q, specificity };
  }
  return best.form;
}

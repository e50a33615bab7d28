import { ApiError, sentence } from "../../api.ts";

/** What is wrong with one field, by the problem's pointer (`/email`), made a sentence. */
export function faultOf(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const fault = error.faults.find((each) => each.pointer === `/${field}`);
  if (!fault) return undefined;
  const text = fault.detail.charAt(0).toUpperCase() + fault.detail.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** What is wrong with the whole, where no field of the form shows it already. */
export function faultOfForm(error: unknown, fields: string[]): string | undefined {
  if (!error) return undefined;
  return fields.some((field) => faultOf(error, field)) ? undefined : sentence(error);
}

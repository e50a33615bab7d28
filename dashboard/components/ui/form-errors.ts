import { ApiError, errorMessage } from "../../api.ts";

/** The error of one field, found by the problem's pointer (`/email`), as a sentence. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = error.errors.find((each) => each.pointer === `/${field}`);
  if (!found) return undefined;
  const text = found.detail.charAt(0).toUpperCase() + found.detail.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The error of the whole form, unless one of its fields already shows it. */
export function formError(error: unknown, fields: string[]): string | undefined {
  if (!error) return undefined;
  return fields.some((field) => fieldError(error, field)) ? undefined : errorMessage(error);
}

import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { wholeNumber } from "./whole-number.ts";

/**
 * How many items a page of a list has, the same for all lists.
 *
 * @param items - as the list calls them: "Users"
 * @param max - for a list whose items are so large that fewer must do; `reason` says so
 */
export function pageLimit(
  items: string,
  { max = limits.pageItems, reason = "" }: { max?: number; reason?: string } = {},
) {
  const fallback = limits.pageItemsDefault;
  const description = [`${items} per page, ${fallback} by default.`, reason].filter(Boolean).join(" ");
  return wholeNumber(1, max).default(fallback).openapi({ default: fallback, description });
}

/** How many items a page has, of a list that is streamed as a whole without it. */
export function optionalPageLimit(items: string) {
  const description = `${items} per page. Without it, all are streamed.`;
  return wholeNumber(1, limits.pageItems).optional().openapi({ description });
}

/** Where a page begins. A text that no page gave is `query-invalid`, which the list itself decides. */
export const pageCursor = z
  .string()
  .optional()
  .openapi({ description: "The `nextCursor` of the previous page." });

/** The cursor of a list in the order of numeric IDs. */
export const idCursor = pageCursor.refine((value) => value === undefined || /^\d{1,15}$/.test(value), {
  message: 'must be the "nextCursor" of an earlier page',
});

/** The cursor of a list in the order of a text. Responses encode it with `cursorOfText`. */
export const textCursor = pageCursor.refine(
  (value) => value === undefined || cursorOfText(textOfCursor(value)) === value,
  { message: 'must be the "nextCursor" of an earlier page' },
);

export function cursorOfText(text: string): string {
  return Buffer.from(text).toString("base64url");
}

export function textOfCursor(cursor: string): string {
  return Buffer.from(cursor, "base64url").toString();
}

/** The cursor in a list's response. */
export const nextCursor = z
  .string()
  .nullable()
  .openapi({ description: "The `cursor` of the next page; null on the last page." });

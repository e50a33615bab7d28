import { createHash } from "node:crypto";
import { problem } from "./problems.ts";

/**
 * Versions of what two people can edit. A version is made of what can be edited, so every way of changing it makes
 * another one, and changing it back makes the former one. Who edits sends the version that editing began with as
 * `If-Match` (RFC 9110, section 13.1.1).
 */

/** The versions that a change is meant for, from `If-Match`. Null: whichever there is. */
export type IfMatch = readonly string[] | null;

/** @param editable - the values that can be edited, always in the same order */
export function versionOf(...editable: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(editable)).digest("base64url").slice(0, 16);
}

/** Throws `if-match-invalid`. */
export function parseIfMatch(header: string | null): IfMatch {
  const text = header?.trim() ?? "*";
  if (text === "*") return null;
  const listed = text.split(",").map((tag) => /^"([\x21\x23-\x7e]*)"$/.exec(tag.trim())?.[1]);
  if (listed.every((tag) => tag !== undefined)) return listed;
  throw problem("if-match-invalid", {
    detail: 'Send a version in quotes, as in `If-Match: "Zk3x9Qm0aB_dEf12"`.',
  });
}

/**
 * Throws `changed-meanwhile`, with the thing as it is now, if a change is meant for another version.
 *
 * Invariant: what two people can edit has a version, a hash of all that can be changed. A change with `If-Match` is
 * made only to that version, which is checked in its transaction. Checked by `server/core/edit-version.test.ts`.
 */
export function checkVersion(ifMatch: IfMatch, current: { version: string }): void {
  if (ifMatch === null || ifMatch.includes(current.version)) return;
  throw problem("changed-meanwhile", {
    detail: "This was changed after you began to edit it. Nothing was overwritten.",
    current: { ...current },
  });
}

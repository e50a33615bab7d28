import type { Event } from "../../wire/event.ts";
import { token, tokensOf } from "../tokens.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** The tokens of an event, with spaces between, and with those of its hour and day: the index has no order. */
export function timedTokensOf(project: number, event: Event, createdAtMs: number): string {
  const hour = token.hour(project, Math.floor(createdAtMs / hourMs));
  return `${tokensOf(project, event)} ${hour} ${token.day(project, Math.floor(createdAtMs / dayMs))}`;
}

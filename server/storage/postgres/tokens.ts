import { token } from "../../event/tokens.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** An event's tokens, and those of its hour and day, by which the index can be asked for a range of time. */
export function timedTokens(project: number, tokens: string, createdAtMs: number): string {
  const hour = token.hour(project, Math.floor(createdAtMs / hourMs));
  return `${tokens} ${hour} ${token.day(project, Math.floor(createdAtMs / dayMs))}`;
}

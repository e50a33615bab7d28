/** A moment, in milliseconds since 1970, as the API returns it: ISO 8601 in UTC. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoOf(ms);
}

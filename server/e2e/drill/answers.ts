/**
 * Statuses that clients must expect while something fails: of Tidings, and 502 and 504 of the load balancer. 409 is a
 * request with the same `Idempotency-Key` that is still in progress.
 */
const expected = new Set([200, 201, 409, 502, 503, 504, 507]);
/** Examples of unexpected answers that are kept. */
const examplesMax = 20;

/** The answers that clients got, by status. */
export class Answers {
  readonly counts = new Map<number | "none", number>();
  readonly unexpected: string[] = [];

  /** @param status - null if there was no answer */
  add(status: number | null, request: string, body: string): void {
    const key = status ?? "none";
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    if (status === null || expected.has(status)) return;
    // The storage may have become unavailable in the middle of an array.
    if (status === 207 && isStorageProblem(body)) return;
    if (this.unexpected.length < examplesMax)
      this.unexpected.push(`${request}: ${status} ${body.slice(0, 300)}`);
  }
}

function isStorageProblem(body: string): boolean {
  const { results } = JSON.parse(body) as { results: { ok: boolean; type?: string; status?: number }[] };
  return results.every(({ ok, status = 0 }) => ok || status === 503 || status === 507);
}

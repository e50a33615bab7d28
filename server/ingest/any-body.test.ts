import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";
import { effort } from "../testing/engine.ts";
import { gzipBomb, type HostileRequest, hostileRequest } from "../testing/hostile.ts";
import { testProcess } from "../testing/server-process.ts";

const bodies = effort(150, 100_000);
const clients = 32;
/** Documented statuses, plus 409 for a request in progress. */
const documented = [200, 201, 207, 400, 409, 413, 415, 422];

/** What a client sent, as listings return it; null if only the response can tell. */
function shown(sent: Record<string, unknown>, { id, createdAt }: Event): string {
  const { channel, name, event, userId, user_id, icon, notify, tags, description } = sent;
  const timestamp =
    sent.createdAt == null ? createdAt : new Date(sent.createdAt as string | number).toISOString();
  return JSON.stringify({
    id: typeof sent.id === "string" ? sent.id.toLowerCase() : id,
    name: name ?? event,
    channelId: channel,
    userId: userId ?? user_id ?? "",
    icon: icon ?? undefined,
    notify: notify ?? false,
    tags: tags ?? {},
    event: name == null ? undefined : (event ?? undefined),
    description: description ?? undefined,
    createdAt: timestamp,
  });
}

test(
  `${bodies} bodies of every kind are stored or told what is wrong, and what was stored is listed back equal`,
  async () => {
    await using app = await testProcess();
    const seed = Date.now();
    const requests = fc.sample(hostileRequest, { numRuns: bodies, seed })[Symbol.iterator]();
    const recorded = new Map<string, string>();
    /** Events accepted in a batch, which are counted but not listed. */
    let inBatches = 0;
    const counts = new Map<number, number>();
    let largestMb = 0;

    async function send({ headers, body }: HostileRequest): Promise<void> {
      const response = await app.request("/api/events", { method: "POST", headers, body: new Blob([body]) });
      const text = await response.text();
      const context = `seed ${seed}: ${JSON.stringify(headers)} ${Buffer.from(body).toString("latin1").slice(0, 500)}`;
      if (!documented.includes(response.status)) throw new Error(`${response.status} ${text}, ${context}`);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      const answer = JSON.parse(text) as { ok: boolean; event?: Event; accepted?: number; type?: string };
      if (answer.event) {
        if (response.status === 201) recorded.set(answer.event.id, JSON.stringify(answer.event));
        if (
          response.status === 201 &&
          !headers["content-encoding"] &&
          headers["content-type"] === "application/json"
        ) {
          const sent = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
          expect(`${context} ${JSON.stringify(answer.event)}`).toBe(
            `${context} ${shown(sent, answer.event)}`,
          );
        }
      } else if (answer.accepted !== undefined) inBatches += answer.accepted;
      else {
        expect(response.headers.get("content-type")).toBe("application/problem+json");
        expect(answer.type).toStartWith("/problems/");
        // However large the body, error messages are short.
        expect(text.length).toBeLessThan(20_000);
      }
    }

    await app.post({ channel: "first", name: "first" });
    const startMb = app.memoryMb();
    await Promise.all(
      Array.from({ length: clients }, async () => {
        let sent = 0;
        for (const request of requests) {
          await send(request);
          if (++sent % 50 === 0) largestMb = Math.max(largestMb, app.memoryMb());
        }
      }),
    );

    for (const type of ["application/json", "application/x-ndjson"]) {
      await send({ headers: { "content-type": type, "content-encoding": "gzip" }, body: gzipBomb(500) });
      largestMb = Math.max(largestMb, app.memoryMb());
    }
    expect(largestMb - startMb).toBeLessThan(300);
    const { events } = (await (await app.request("/api/events")).json()) as { events: Event[] };
    expect(recorded.size).toBeGreaterThan(bodies / 10);
    expect(events).toHaveLength(1 + recorded.size + inBatches);
    const listed = new Map(events.map((event) => [event.id, JSON.stringify(event)]));
    expect([...recorded].filter(([id, text]) => listed.get(id) !== text)).toEqual([]);
    const { stdout, stderr } = await app.end("SIGTERM");
    expect(stdout).not.toContain("a request failed");
    expect(stderr).toBe("");
  },
  effort(60_000, 1_200_000),
);

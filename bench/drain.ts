/**
 * Reads complete listings and discards them, in a separate process. It reads a `DrainJob` as JSON from stdin and prints
 * a `DrainResult` as JSON on stdout.
 */
import { runJob } from "./job.ts";

export type DrainJob = {
  /** The ports of one or more servers; readers are assigned to them in turn. */
  ports: number[];
  apiKey: string;
  /** Concurrent listings. */
  readers: number;
  /** Each reader starts over until the time is up, then stops mid-listing; null for one complete listing. */
  durationMs: number | null;
};

export type DrainResult = { events: number; bytes: number; seconds: number };

// Occurs once in each event, and in none of the benchmark's texts.
const marker = Buffer.from('"createdAt":"');
const overlapBytes = marker.length - 1;

/** Runs the job in this process. Rejects if a listing is rejected or truncated. */
export async function drain({ ports, apiKey, readers, durationMs }: DrainJob): Promise<DrainResult> {
  const result: DrainResult = { events: 0, bytes: 0, seconds: 0 };
  const startedAt = performance.now();
  const isOver = () => durationMs !== null && performance.now() - startedAt >= durationMs;

  async function readListing(port: number): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}/api/events`, { headers: { "x-api-key": apiKey } });
    if (response.status !== 200)
      throw new Error(`the listing answered ${response.status}: ${await response.text()}`);
    const reader = response.body!.getReader();
    const countEvents = createEventCounter();
    let end = Buffer.alloc(0);
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const bytes = Buffer.from(read.value.buffer, read.value.byteOffset, read.value.byteLength);
      result.bytes += bytes.length;
      result.events += countEvents(bytes);
      end = Buffer.concat([end, bytes.subarray(-2)]).subarray(-2);
      if (isOver()) {
        await reader.cancel();
        return;
      }
    }
    if (end.toString() !== "]}") throw new Error("the listing ended before it was whole");
  }

  await Promise.all(
    Array.from({ length: readers }, async (_, number) => {
      do await readListing(ports[number % ports.length]!);
      while (durationMs !== null && !isOver());
    }),
  );
  result.seconds = (performance.now() - startedAt) / 1_000;
  return result;
}

/**
 * Returns a function that takes a listing chunk by chunk and returns the number of events whose marker ends in the
 * chunk.
 */
export function createEventCounter(): (bytes: Buffer) => number {
  let end = Buffer.alloc(0);
  return (bytes) => {
    // A marker may span chunks, so the end of one chunk is searched again together with the start of the next.
    const spanning = countMarkers(Buffer.concat([end, bytes.subarray(0, overlapBytes)]));
    end = Buffer.concat([end, bytes.subarray(-overlapBytes)]).subarray(-overlapBytes);
    return spanning + countMarkers(bytes);
  };
}

function countMarkers(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + marker.length)) count++;
  return count;
}

if (import.meta.main) await runJob(drain);

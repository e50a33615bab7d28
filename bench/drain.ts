/**
 * Reads complete listings and forgets them, in a process of its own. It reads a `DrainJob` as JSON on stdin and prints a
 * `DrainResult` as JSON on stdout.
 */

export type DrainJob = {
  /** Of one server, or of several, among which readers are dealt out in turn. */
  ports: number[];
  apiKey: string;
  /** Listings that stream at the same time. */
  readers: number;
  /** Each reader begins again until then, and stops in the middle; null for one listing to its end. */
  durationMs: number | null;
};

export type DrainResult = { events: number; bytes: number; seconds: number };

// Stands in each event once, and in no text of the events that are loaded here.
const mark = Buffer.from('"createdAt":"');
const borderBytes = mark.length - 1;

/** Runs the job in this process. Rejects when a listing is rejected, or ends before it is whole. */
export async function drain({ ports, apiKey, readers, durationMs }: DrainJob): Promise<DrainResult> {
  const result: DrainResult = { events: 0, bytes: 0, seconds: 0 };
  const startedAt = performance.now();
  const isOver = () => durationMs !== null && performance.now() - startedAt >= durationMs;

  async function readListing(port: number): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/events`, { headers: { "x-api-key": apiKey } });
    if (answer.status !== 200)
      throw new Error(`the listing answered ${answer.status}: ${await answer.text()}`);
    const reader = answer.body!.getReader();
    const countEvents = createCounter();
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

/** Makes a function that takes a listing piece by piece, and gives the number of events whose mark ended in the piece. */
export function createCounter(): (bytes: Buffer) => number {
  let end = Buffer.alloc(0);
  return (bytes) => {
    // A mark may stand across pieces: what can't be a whole one is looked at once more, with what follows.
    const across = countMarks(Buffer.concat([end, bytes.subarray(0, borderBytes)]));
    end = Buffer.concat([end, bytes.subarray(-borderBytes)]).subarray(-borderBytes);
    return across + countMarks(bytes);
  };
}

function countMarks(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) count++;
  return count;
}

if (import.meta.main) {
  const job = (await Bun.stdin.json()) as DrainJob;
  try {
    process.stdout.write(JSON.stringify(await drain(job)));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  }
}

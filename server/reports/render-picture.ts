import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { threadFile } from "../process/program-files.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";

/** One picture at a time, and projects take turns: each takes memory and a core. */
const queue = new FairQueue<number>({ capacity: 1 });

/**
 * Renders an SVG as PNG, at twice its size. Throws `overloaded` if that takes too long, with the wait for others, and
 * an error if it fails. Whoever sends a report sends it without the picture then.
 */
export async function renderPicture(projectId: number, svg: string): Promise<Uint8Array<ArrayBuffer>> {
  const signal = AbortSignal.timeout(limits.reportPictureSeconds * 1_000);
  try {
    return await queue.run(projectId, () => renderOnThread(svg, signal), { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw problem("overloaded", {
      detail: `Drawing the picture of a report takes longer than ${limits.reportPictureSeconds} seconds. Try again shortly.`,
    });
  }
}

function renderOnThread(svg: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  const thread = new Worker(threadFile("picture").href, { smol: true });
  thread.onmessage = ({ data }: MessageEvent<Uint8Array<ArrayBuffer>>) => resolve(data);
  thread.onerror = ({ message }) =>
    reject(new Error(`The picture of a report could not be drawn: ${message}`));
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  thread.postMessage(svg);
  return promise.finally(() => thread.terminate());
}

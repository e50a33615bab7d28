import { limits } from "../core/limits.ts";
import { threadFile } from "../process/program-files.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";

/** One picture at a time, and projects take turns: each takes memory and a core. */
const queue = new FairQueue<number>({ capacity: 1 });

/**
 * Renders an SVG as PNG, at twice its size. Throws if it fails or takes too long, with the wait for others. Whoever sends
 * a report sends it without the picture then.
 */
export async function renderPicture(projectId: number, svg: string): Promise<Uint8Array<ArrayBuffer>> {
  const signal = AbortSignal.timeout(limits.reportPictureSeconds * 1_000);
  return queue.run(projectId, () => renderOnThread(svg, signal), { signal });
}

function renderOnThread(svg: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  const thread = new Worker(threadFile("picture").href, { smol: true });
  thread.onmessage = ({ data }: MessageEvent<Uint8Array<ArrayBuffer>>) => resolve(data);
  thread.onerror = ({ message }) =>
    reject(new Error(`The picture of a report could not be drawn: ${message}`));
  signal.addEventListener("abort", () => reject(tooLate()), { once: true });
  thread.postMessage(svg);
  return promise.finally(() => thread.terminate());
}

function tooLate(): Error {
  return new Error(`The picture of a report took longer than ${limits.reportPictureSeconds} seconds.`);
}

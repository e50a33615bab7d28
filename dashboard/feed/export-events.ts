import { ApiError } from "../api.ts";
import { sizeOf } from "../components/size.ts";
import { toast } from "../shell/toasts.tsx";
import { type Filters, queryOf } from "./filters.ts";

export type ExportFormat = "csv" | "ndjson";
/** A running export: the bytes on disk so far. */
export type Export = { bytes: number; cancel: () => void };

type SaveFilePicker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

let running: Export | null = null;
const listeners = new Set<() => void>();

export const currentExport = (): Export | null => running;

export function subscribeExport(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setRunning(next: Export | null) {
  running = next;
  for (const listener of listeners) listener();
}

/** Streams all matching events to a file. Call it in a click, which a browser requires for choosing a file. */
export async function exportEvents(project: string, filters: Filters, format: ExportFormat): Promise<void> {
  const tags = format === "csv" && { tags: "columns" };
  const url = `/api/events?${new URLSearchParams({ project, format, ...tags, ...queryOf(filters) })}`;
  const name = `${project}-events.${format}`;
  const { showSaveFilePicker } = window as { showSaveFilePicker?: SaveFilePicker };
  // Other browsers show the progress of a download themselves.
  if (!showSaveFilePicker) return download(url, name);
  let file: FileSystemFileHandle;
  try {
    file = await showSaveFilePicker({ suggestedName: name });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    return download(url, name);
  }
  await streamTo(file, url);
}

function download(url: string, name: string) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

async function streamTo(file: FileSystemFileHandle, url: string): Promise<void> {
  const stopped = new AbortController();
  const cancel = () => stopped.abort();
  let bytes = 0;
  setRunning({ bytes, cancel });
  try {
    const response = await fetch(url, { credentials: "same-origin", signal: stopped.signal });
    if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})));
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        setRunning({ bytes, cancel });
        controller.enqueue(chunk);
      },
    });
    // The browser creates the file only when all of it has arrived.
    await response
      .body!.pipeThrough(counting)
      .pipeTo(await file.createWritable(), { signal: stopped.signal });
    toast({ title: "Export finished", description: `${file.name}, ${sizeOf(bytes)}` });
  } catch (error) {
    if (stopped.signal.aborted) return;
    toast({
      title: "The export failed",
      description: error instanceof ApiError ? error.detail : "The connection or the disk failed. Try again.",
      failed: true,
    });
  } finally {
    setRunning(null);
  }
}

import { setPriority } from "node:os";

/** Starts a thread, and resolves with its first message. */
export async function startThread(
  file: URL,
  argv: string[],
  options: { smol?: boolean } = {},
): Promise<Worker> {
  const thread = new Worker(file.href, { argv, ...options });
  await new Promise<void>((resolve, reject) => {
    thread.onerror = (event) => reject(new Error(event.message));
    thread.onmessage = () => resolve();
  });
  return thread;
}

/** Ends a thread. Resolves when it is gone and its connection no longer holds the database's files. */
export function endThread(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.addEventListener("close", () => resolve());
    thread.terminate();
  });
}

/** Lowers the priority of the thread that calls it (setpriority(2)). */
export function lowerPriority(niceness: number): void {
  // On Linux each thread has its own priority. Elsewhere this would change the whole process.
  if (process.platform !== "linux") return;
  try {
    setPriority(niceness);
  } catch {
    // A sandbox can forbid it. Then all threads have the same priority.
  }
}

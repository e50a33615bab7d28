/** Ends a thread and resolves when it is gone, and with it every hold that its connection had on the database's files. */
export function endThread(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.addEventListener("close", () => resolve());
    thread.terminate();
  });
}

/** Ends a thread. Resolves when it is gone and its connection no longer holds the database's files. */
export function endThread(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.addEventListener("close", () => resolve());
    thread.terminate();
  });
}

/** Waits until something is so; throws where that takes longer than so many milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  for (const endMs = performance.now() + withinMs; !(await holds()); await Bun.sleep(10)) {
    if (performance.now() > endMs) throw new Error(`Not so after ${withinMs} ms: ${holds}`);
  }
}

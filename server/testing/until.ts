/** Waits until a condition holds; throws if that takes longer than `withinMs`. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  for (const endMs = performance.now() + withinMs; !(await condition()); await Bun.sleep(10)) {
    if (performance.now() > endMs) throw new Error(`Still false after ${withinMs} ms: ${condition}`);
  }
}

/**
 * Repeats `act` until it is disposed of, so that no timer outlives its test. The first error ends it, and is thrown when
 * it is disposed of: an error in a timer would fail whatever test runs then.
 */
export function every(ms: number, act: () => void): Disposable {
  let failed: { error: unknown } | null = null;
  const timer = setInterval(() => {
    try {
      act();
    } catch (error) {
      failed = { error };
      clearInterval(timer);
    }
  }, ms);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      if (failed) throw failed.error;
    },
  };
}

/**
 * Measures how long a page is visible, and how far it was scrolled, in percent.
 *
 * @param emit - given whole seconds since the last report; not called for less than one
 */
export function measureReading(emit: (tags: { seconds: number; scroll: number }) => void) {
  /** When the page became visible, or was last counted; 0 while it is hidden. */
  let since = 0;
  let readMs = 0;
  let lowest = 0;

  function look(): void {
    lowest = Math.max(lowest, scrollY + innerHeight);
  }

  function resume(): void {
    since = document.hidden ? 0 : performance.now();
  }

  addEventListener("scroll", look, { passive: true });

  return {
    report(): void {
      if (since) readMs += performance.now() - since;
      resume();
      look();
      const seconds = Math.floor(readMs / 1_000);
      if (seconds < 1) return;
      readMs -= seconds * 1_000;
      const share = lowest / document.documentElement.scrollHeight;
      emit({ seconds, scroll: Math.min(100, Math.round(100 * share)) });
    },
    resume,
    /** A new page begins. */
    begin(): void {
      resume();
      readMs = lowest = 0;
    },
  };
}

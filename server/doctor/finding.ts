/** The result of one check of `tidings doctor`. */
export type Finding = {
  /** What was checked, such as "search index". */
  check: string;
  state: "ok" | "warning" | "problem";
  /** What was found. */
  detail: string;
  /** What to do about it; null if nothing. */
  advice: string | null;
  /** What `--fix` can rebuild. */
  fix: Fix | null;
};

/** What can be rebuilt from the events. */
export type Fix = "index" | "counters" | "blocks" | "ids" | "rights";

export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail, advice: null, fix: null };
}

export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: "warning", detail, advice, fix: null };
}

export function problemFound(check: string, detail: string, advice: string, fix: Fix | null = null): Finding {
  return { check, state: "problem", detail, advice, fix };
}

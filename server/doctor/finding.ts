/** The result of one check of `tidings doctor`. */
export type Finding = {
  /** The name of the check, such as "search index". */
  check: string;
  state: "ok" | "warning" | "problem";
  /** The result, as a sentence. */
  detail: string;
  /** Advice; null if there is nothing to do. */
  advice: string | null;
  /** The part that `--fix` can rebuild. */
  fix: Fix | null;
};

/** Parts that can be rebuilt from the events; `older` are those in ClickHouse, which are moved there again. */
export type Fix = "index" | "counters" | "blocks" | "ids" | "rights" | "older";

export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail, advice: null, fix: null };
}

export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: "warning", detail, advice, fix: null };
}

export function problemFound(check: string, detail: string, advice: string, fix: Fix | null = null): Finding {
  return { check, state: "problem", detail, advice, fix };
}

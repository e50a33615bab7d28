import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type BoardRange, rangeIn, searchOf } from "./ranges.ts";

/** The period in the address, and how to change it. Links to a board keep it. */
export function useRange(): {
  range: BoardRange;
  search: Record<string, string>;
  change: (range: BoardRange) => void;
} {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const text = JSON.stringify(searchOf(rangeIn(search)));
  return useMemo(() => {
    const kept = JSON.parse(text) as Record<string, string>;
    return {
      range: rangeIn(kept),
      search: kept,
      // biome-ignore lint/suspicious/noExplicitAny: the route is whichever is open
      change: (range) => void navigate({ to: ".", search: searchOf(range) as any }),
    };
  }, [text, navigate]);
}

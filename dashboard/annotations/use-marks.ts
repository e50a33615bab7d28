import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Mark } from "../../server/schemas/annotation.ts";
import type { ChartMark } from "../charts/chart-marks.ts";
import { type MarksOf, marksQuery } from "./annotations.ts";

export type ShownMarks = {
  marks: readonly ChartMark[];
  /** Older ones that are not drawn, by annotation. */
  omitted: readonly { name: string; count: number }[];
};

const none: ShownMarks = { marks: [], omitted: [] };

/** The marks of a chart. None while they load, if they can't be loaded, and on public boards (`of` is null). */
export function useMarks(of: MarksOf | null): ShownMarks {
  const isShown = of !== null;
  const { data } = useQuery({
    ...marksQuery(of ?? { project: "", time: null, bounds: () => ({ from: "", to: "" }), isLive: false }),
    enabled: isShown,
  });
  return useMemo(
    () => (data && isShown ? { marks: data.marks.map(chartMarkOf), omitted: data.omitted } : none),
    [data, isShown],
  );
}

function chartMarkOf({ annotation, name, icon, color, at, until, event }: Mark): ChartMark {
  return {
    key: `${annotation} ${event?.id ?? ""}`,
    name: event && event.name !== name ? `${name}: ${event.name}` : name,
    icon: icon ?? event?.icon ?? null,
    color: color - 1,
    fromMs: Date.parse(at),
    toMs: until === null ? null : Date.parse(until),
    eventId: event?.id ?? null,
  };
}

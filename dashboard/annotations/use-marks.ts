import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Mark, MarkList } from "../../server/schemas/annotation.ts";
import { api } from "../api.ts";
import type { ChartMark } from "../charts/chart-marks.ts";
import { zone } from "../components/zone.ts";

/** How often the marks of a chart that grows are read again. */
const refreshMs = 30_000;

export type MarksOf = {
  project: string;
  /** The board whose notes are included. */
  board?: string | undefined;
  /** The time that is marked: charts of the same one share marks. */
  time: unknown;
  /** Its bounds when they are read. */
  bounds: () => { from: string; to: string };
  /** The time ends now, so new marks can be added. */
  isLive: boolean;
};

/** The marks of a time. */
function marksQuery({ project, board, time, bounds, isLive }: MarksOf) {
  return queryOptions({
    queryKey: ["marks", project, board ?? null, zone(), time],
    queryFn: ({ signal }) =>
      api<MarkList>("/api/annotations/marks", {
        query: { project, board, timeZone: zone(), ...bounds() },
        signal,
      }),
    refetchInterval: isLive ? refreshMs : false,
    placeholderData: (previous) => previous,
    retry: false,
  });
}

export type ShownMarks = {
  marks: readonly ChartMark[];
  /** Older ones that are not drawn. */
  omitted: MarkList["omitted"];
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

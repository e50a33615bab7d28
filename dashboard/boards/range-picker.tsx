import { dayOfText, dayText } from "../components/zone.ts";
import type { TimeFilter } from "../time-range/time-range.ts";
import { TimeRangePicker } from "../time-range/time-range-picker.tsx";
import { type BoardRange, type Preset, presets } from "./ranges.ts";

type Props = { range: BoardRange; change: (range: BoardRange) => void };

/** Chooses the period that a board shows: up to now, or certain days. */
export function RangePicker({ range, change }: Props) {
  return (
    <TimeRangePicker
      time={timeOf(range)}
      change={(time) => change({ ...periodOf(time), compare: range.compare })}
      offered={presets}
      hasAll={false}
      isWholeDays
      isOutlined
    />
  );
}

function timeOf(range: BoardRange): TimeFilter {
  if ("preset" in range) return { range: range.preset };
  return {
    from: new Date(dayOfText(range.from)).toISOString(),
    to: new Date(dayOfText(range.to, 1)).toISOString(),
  };
}

function periodOf({ range, from, to }: TimeFilter): { preset: Preset } | { from: string; to: string } {
  if (from === undefined || to === undefined) return { preset: range as Preset };
  return { from: dayText(Date.parse(from)), to: dayText(Date.parse(to) - 1) };
}

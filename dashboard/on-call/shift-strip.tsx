import { clsx } from "clsx";
import type { OnCallShift } from "../../server/schemas/on-call.ts";
import { formatDate } from "../components/dates.ts";
import { dayNumber, dayStart } from "../components/zone.ts";

const daysInRow = 7;

type Props = {
  shifts: OnCallShift[];
  /** When the first row begins, in milliseconds since 1970. */
  fromMs: number;
  rows: number;
  nowMs: number;
  /** The number of a member's color, from 0. */
  colorOf: (memberId: string) => number;
};

/** Shifts as bars on days, a row for each week. `ShiftList` has the same for those who don't see it. */
export function ShiftStrip({ shifts, fromMs, rows, nowMs, colorOf }: Props) {
  return (
    <div aria-hidden className="flex flex-col gap-3">
      {Array.from({ length: rows }, (_, row) => dayStart(fromMs, row * daysInRow)).map((startMs) => (
        <Week
          key={startMs}
          startMs={startMs}
          endMs={dayStart(startMs, daysInRow)}
          {...{ shifts, nowMs, colorOf }}
        />
      ))}
    </div>
  );
}

type WeekProps = Pick<Props, "shifts" | "nowMs" | "colorOf"> & { startMs: number; endMs: number };

function Week({ startMs, endMs, shifts, nowMs, colorOf }: WeekProps) {
  const percent = (ms: number) => (100 * (ms - startMs)) / (endMs - startMs);
  return (
    <div className="relative">
      <div className="grid grid-cols-7">
        {Array.from({ length: daysInRow }, (_, day) => {
          const ms = dayStart(startMs, day);
          const isToday = dayNumber(ms) === dayNumber(nowMs);
          return (
            <div
              key={ms}
              className={clsx(
                "h-16 border-line border-l pl-1.5 text-xs",
                isToday ? "font-semibold text-accent" : "text-muted",
              )}
            >
              <span className="max-sm:hidden">{formatDate(ms, "weekdayAndDay")}</span>
              <span className="sm:hidden">{formatDate(ms, "dayOfMonth")}</span>
            </div>
          );
        })}
      </div>
      <div className="absolute inset-x-0 top-6 h-9">
        {shifts.map(({ member, from, to }) => {
          const left = Math.max(0, percent(Date.parse(from)));
          const right = Math.min(100, percent(Date.parse(to)));
          if (right <= 0 || left >= 100) return null;
          const color = member && `var(--mark-${(colorOf(member.id) % 8) + 1})`;
          return (
            <div
              key={from}
              title={`${member?.name ?? "Nobody"}: ${formatDate(from, "soon")} – ${formatDate(to, "soon")}`}
              className={clsx(
                "@container absolute inset-y-0 flex items-center overflow-hidden text-xs",
                color
                  ? "rounded-sm border-l-4 text-ink"
                  : "rounded-sm border border-line-strong border-dashed text-faint",
              )}
              style={{
                left: `${left}%`,
                width: `${right - left}%`,
                ...(color && {
                  borderLeftColor: color,
                  backgroundColor: `color-mix(in srgb, ${color} 22%, transparent)`,
                }),
              }}
            >
              {/* Narrow bars have no room for a name. */}
              <span className="hostile-line hidden px-1.5 @min-[2.25rem]:block">
                {member?.name ?? "Nobody"}
              </span>
            </div>
          );
        })}
      </div>
      {nowMs >= startMs && nowMs < endMs && (
        <div
          className="absolute top-5 h-11 w-0.5 rounded-full bg-accent"
          style={{ left: `${percent(nowMs)}%` }}
        />
      )}
    </div>
  );
}

import "./on-call.css";
import type { CSSProperties } from "react";
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
  /** The CSS color of a member. */
  colorOf: (memberId: string) => string;
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
  const days = Array.from({ length: daysInRow }, (_, day) => dayStart(startMs, day));
  return (
    <div className="shift-week">
      <div className="shift-days">
        {days.map((ms) => (
          <div key={ms} data-today={dayNumber(ms) === dayNumber(nowMs) || undefined}>
            {formatDate(ms, "dayOfMonth")} <span className="weekday">{formatDate(ms, "shortWeekday")}</span>
          </div>
        ))}
      </div>
      <div className="shift-bars">
        {shifts.map(({ member, from, to }) => {
          const left = Math.max(0, percent(Date.parse(from)));
          const right = Math.min(100, percent(Date.parse(to)));
          if (right <= 0 || left >= 100) return null;
          return (
            <div
              key={from}
              title={`${member?.name ?? "Nobody"}: ${formatDate(from, "soon")} – ${formatDate(to, "soon")}`}
              className="shift-bar"
              data-covered={member !== null || undefined}
              style={
                {
                  left: `${left}%`,
                  width: `${right - left}%`,
                  ...(member && { "--mark": colorOf(member.id) }),
                } as CSSProperties
              }
            >
              <span className="hostile-line px-1.5">{member?.name ?? "Nobody"}</span>
            </div>
          );
        })}
      </div>
      {nowMs >= startMs && nowMs < endMs && (
        <div className="shift-now" style={{ left: `${percent(nowMs)}%` }} />
      )}
    </div>
  );
}

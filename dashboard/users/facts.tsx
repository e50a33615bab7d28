import type { ReactNode } from "react";
import { formatDate } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";

type Props = {
  events: number;
  /** Beside the number of events. */
  beside?: ReactNode;
  firstSeenAt: string | null;
  lastSeenAt: string | null;
};

/** How many events a user or a group has, and when the first and the last one were. */
export function Facts({ events, beside, firstSeenAt, lastSeenAt }: Props) {
  const times: [string, string | null][] = [
    ["First seen", firstSeenAt],
    ["Last seen", lastSeenAt],
  ];
  return (
    <dl className="grid grid-cols-3 gap-4 lg:grid-cols-2">
      <div className="lg:col-span-2">
        <dt className="text-muted text-xs">Events</dt>
        <dd className="flex items-baseline gap-2 font-semibold text-xl">
          {formatNumber(events)}
          {beside && <span className="font-normal text-muted text-xs">{beside}</span>}
        </dd>
      </div>
      {times.map(([label, at]) => (
        <div key={label}>
          <dt className="text-muted text-xs">{label}</dt>
          <dd className="text-sm">
            {at === null ? (
              "Never"
            ) : (
              <>
                {formatDate(at, "dayOfYear")}
                <RelativeTime at={at} form="long" className="block text-faint text-xs" />
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

import type { Destination } from "../../server/schemas/account-destination.ts";
import { useSetHourlyLimit } from "./destinations.ts";
import { Panel } from "./group.tsx";

const choices = [5, 10, 20, 60, 120];

/** How many messages email and each device get in an hour. The dashboard shows every notification. */
export function LimitList({ destinations }: { destinations: Destination[] }) {
  const set = useSetHourlyLimit();
  const limited = destinations.filter(({ kind, enabled }) => kind !== "dashboard" && enabled);
  if (limited.length === 0) return null;
  return (
    <div className="mt-2 flex flex-col gap-2">
      <h3 className="font-medium text-muted text-sm">How many</h3>
      <Panel>
        {limited.map(({ id, kind, label, hourlyLimit }) => {
          const name = kind === "email" ? "Email" : label;
          const offered =
            hourlyLimit === null || choices.includes(hourlyLimit) ? choices : [...choices, hourlyLimit];
          return (
            <label key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
              <span className="min-w-0 flex-1">
                <span className="hostile block font-medium">{name}</span>
                <span className="block text-muted text-xs">
                  Further messages are held back, and one says how many. Urgent ones always pass.
                </span>
              </span>
              <select
                aria-label={`Messages to ${name} in an hour`}
                value={hourlyLimit ?? ""}
                disabled={set.isPending}
                onChange={({ target }) =>
                  set.mutate({ id, hourlyLimit: target.value === "" ? null : Number(target.value) })
                }
                className="h-8 rounded-md border border-line-strong bg-raised pr-7 pl-2.5 text-sm max-md:h-11"
              >
                <option value="">No limit</option>
                {offered.map((count) => (
                  <option key={count} value={count}>
                    {count} in an hour
                  </option>
                ))}
              </select>
            </label>
          );
        })}
      </Panel>
    </div>
  );
}

import type { OnCallShift } from "../../server/schemas/on-call.ts";
import { formatDate } from "../components/dates.ts";
import { Button } from "../components/ui/button.tsx";

type Props = {
  shifts: OnCallShift[];
  /** Of the signed-in account. */
  accountId: string;
  /** Without it, the account may not be on call. */
  take: ((range: { fromMs: number; toMs: number }) => void) | undefined;
};

/** The shifts one by one, each with a button to take it over. */
export function ShiftList({ shifts, accountId, take }: Props) {
  return (
    <details className="group text-sm">
      <summary className="cursor-pointer text-muted hover:text-ink">All shifts of these two weeks</summary>
      <ul aria-label="Shifts" className="mt-2 divide-y divide-line">
        {shifts.map(({ member, from, to, override }) => (
          <li key={from} className="flex min-h-10 items-center gap-3 py-1.5">
            <p className="hostile flex min-w-0 flex-1 flex-wrap gap-x-3">
              <span className="shift-who font-medium">{member?.name ?? "Nobody"}</span>
              <span className="text-muted">
                <time dateTime={from}>{formatDate(from, "soon")}</time> –{" "}
                <time dateTime={to}>{formatDate(to, "soon")}</time>
                {override !== null && " (override)"}
              </span>
            </p>
            {take && member?.id !== accountId && (
              <Button
                aria-label={`Take over the shift of ${member?.name ?? "nobody"} from ${formatDate(from, "soon")}`}
                onClick={() => take({ fromMs: Date.parse(from), toMs: Date.parse(to) })}
              >
                Take over
              </Button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

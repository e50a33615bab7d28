import type { RejectedEvent } from "../../server/schemas/rejected-event.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { parsedBody, reasonsIn, useDiscard } from "./rejected.ts";

type RejectedItemProps = { rejected: RejectedEvent; fix: (rejected: RejectedEvent) => void };

/** A rejected event: the reason, the body and the sender, with its actions. */
export function RejectedItem({ rejected, fix }: RejectedItemProps) {
  const discard = useDiscard(useProjectSlug());
  const mayChange = useCan()("rejected:change");
  const { problem, key, body, cut } = rejected;
  // Then fixes can't be suggested, and missing parts have to be typed.
  const byHand = cut || parsedBody(rejected) === undefined;
  return (
    <li className="flex flex-col gap-2.5 border-line border-b p-4 last:border-b-0">
      <div className="flex items-start justify-between gap-4">
        <ul className="min-w-0 font-medium text-sm">
          {reasonsIn(problem).map((reason) => (
            <li key={reason} className="hostile">
              {reason}
            </li>
          ))}
        </ul>
        <RelativeTime
          at={rejected.rejectedAt}
          form="long"
          className="shrink-0 text-faint text-xs leading-5"
        />
      </div>
      <pre className="hostile max-h-24 overflow-hidden whitespace-pre-wrap rounded-md border border-line bg-canvas px-3 py-2 font-mono text-muted text-xs">
        {body.slice(0, 600)}
        {body.length > 600 && "…"}
      </pre>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="hostile-line text-faint text-xs">
          {key ? `Sent with API key ${key.name} (…${key.ending})` : "Sent by a project member"}
        </p>
        {mayChange && (
          <div className="flex gap-2">
            <Button variant="ghost" busy={discard.isPending} onClick={() => discard.mutate(rejected.id)}>
              Discard
            </Button>
            <Button onClick={() => fix(rejected)}>{byHand ? "Edit and resend" : "Fix and resend"}</Button>
          </div>
        )}
      </div>
    </li>
  );
}

import type { RefusedEvent } from "../../server/wire/refused-event.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { useDiscard } from "./refused.ts";

type RefusedItemProps = { refused: RefusedEvent; mend: (refused: RefusedEvent) => void };

/** An event that was refused: why, what was sent, by whom, and what can be done. */
export function RefusedItem({ refused, mend }: RefusedItemProps) {
  const discard = useDiscard(useProjectSlug());
  const { problem, key, body } = refused;
  const reasons = problem.errors?.length ? problem.errors.map(({ detail }) => detail) : [problem.detail];
  return (
    <li className="flex flex-col gap-2.5 border-line border-b p-4 last:border-b-0">
      <div className="flex items-start justify-between gap-4">
        <ul className="min-w-0 font-medium text-sm">
          {reasons.map((reason) => (
            <li key={reason} className="hostile">
              {reason}
            </li>
          ))}
        </ul>
        <RelativeTime at={refused.refusedAt} long className="shrink-0 text-faint text-xs leading-5" />
      </div>
      <pre className="hostile max-h-24 overflow-hidden whitespace-pre-wrap rounded-md border border-line bg-canvas px-3 py-2 font-mono text-muted text-xs">
        {body.slice(0, 600)}
        {body.length > 600 && "…"}
      </pre>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="hostile-line text-faint text-xs">
          {key ? `Sent with the key ${key.name} (…${key.ending})` : "Sent by a member"}
        </p>
        <div className="flex gap-2">
          <Button look="ghost" busy={discard.isPending} onClick={() => discard.mutate(refused.id)}>
            Discard
          </Button>
          <Button onClick={() => mend(refused)}>Mend and record</Button>
        </div>
      </div>
    </li>
  );
}

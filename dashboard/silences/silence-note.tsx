import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { BellOff } from "lucide-react";
import { formatDate } from "../components/dates.ts";
import { Button } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { activeSilencesQuery, authorOf, useEndSilence } from "./silences.ts";

/** The active silences that are named. */
const listed = 2;

/** A sentence for each active silence: until when nobody is notified, by whom, and why. */
export function SilenceNote({ className }: { className: string }) {
  const project = useProjectSlug();
  const { data: silences = [] } = useQuery(activeSilencesQuery(project));
  const canEnd = useCan()("silences:change");
  const end = useEndSilence(project);
  if (silences.length === 0) return null;
  const others = silences.length - listed;
  return (
    <ul
      aria-label="Active silences"
      className={clsx("flex flex-col gap-1 border-line bg-warn-soft px-4 py-1.5 text-sm", className)}
    >
      {silences.slice(0, listed).map((silence) => (
        <li key={silence.id} className="flex items-center gap-2">
          <BellOff aria-hidden className="size-4 shrink-0 text-warn" />
          <Link
            to="/p/$project/silences"
            params={{ project }}
            className="hostile min-w-0 flex-1 hover:underline"
          >
            Silenced until {formatDate(silence.to, "soon")} by {authorOf(silence)}: {silence.reason}
          </Link>
          {canEnd && (
            <Button
              className="h-7"
              busy={end.isPending && end.variables.id === silence.id}
              onClick={() => end.mutate(silence)}
            >
              End now
            </Button>
          )}
        </li>
      ))}
      {others > 0 && (
        <li className="pl-7">
          <Link to="/p/$project/silences" params={{ project }} className="text-muted hover:underline">
            {others} more
          </Link>
        </li>
      )}
    </ul>
  );
}

import { useEffect, useState } from "react";
import type { Event } from "../../server/event/event.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { listen } from "../live/connection.ts";

/** Says that an example worked: shows the next event of the project as soon as it arrives. */
export function ArrivalNote({ project }: { project: string }) {
  const [event, setEvent] = useState<Event>();
  useEffect(() => {
    return listen(project, { events: (batch) => setEvent(batch.at(-1)) });
  }, [project]);
  return (
    <div role="status" className="flex min-h-9 items-center gap-2.5 text-muted text-sm">
      {event ? (
        <>
          <EventIcon icon={event.icon} name={event.name} size="sm" />
          <span className="hostile-line font-medium text-ink">{event.name}</span>
          <span className="ml-auto shrink-0 font-medium text-good text-xs">Received</span>
        </>
      ) : (
        <>
          <span aria-hidden className="mx-1.5 size-2 shrink-0 animate-pulse-dot rounded-full bg-accent" />
          Waiting for an event…
        </>
      )}
    </div>
  );
}

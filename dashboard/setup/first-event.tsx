import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useEffect, useState } from "react";
import type { Event, EventList } from "../../server/wire/event.ts";
import type { Project } from "../../server/wire/project.ts";
import { Entrance } from "../account/entrance.tsx";
import { meQuery } from "../account/me.ts";
import { api } from "../api.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { buttonClass } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { SecretBox } from "../keys/secret-box.tsx";
import { openStream } from "../live/stream.ts";
import { queries } from "../queries.ts";
import { curlLine } from "./curl-line.ts";
import { WaitingMark } from "./waiting-mark.tsx";

type FirstEventProps = { project: Project; secret: string };

/** The account is made: its key, a line to copy, and the place where the first event shows up by itself. */
export function FirstEvent({ project, secret }: FirstEventProps) {
  const { data: me } = useQuery(meQuery);
  const event = useFirstEvent(project.slug);
  const line = curlLine({ baseUrl: me?.baseUrl ?? location.origin, key: secret });
  return (
    <Entrance
      wide
      title="Send your first event"
      lead={`Your project "${project.name}" is ready, and this is its key.`}
    >
      <section aria-label="API key" className="flex flex-col gap-2">
        <SecretBox secret={secret} />
        <p className="text-muted text-xs">Copy it now: it is shown only this once.</p>
      </section>
      <CodeBlock label="Run this in a terminal" code={line} copyLabel="Copy line" />
      <section
        aria-label="First event"
        className="flex min-h-40 flex-col items-center justify-center gap-4 rounded-xl border border-line bg-surface p-6 text-center"
      >
        {event ? (
          <Arrived event={event} project={project} />
        ) : (
          <>
            <WaitingMark />
            <p role="status" className="font-medium">
              Waiting for your first event
            </p>
          </>
        )}
      </section>
    </Entrance>
  );
}

function Arrived({ event, project }: { event: Event; project: Project }) {
  return (
    <>
      <div
        role="status"
        className="flex w-full animate-arrive items-center gap-3 rounded-lg border border-line bg-raised p-3 text-left"
      >
        <EventIcon icon={event.icon} name={event.name} />
        <div className="min-w-0 flex-1">
          <p className="hostile-line font-medium">{event.name}</p>
          <p className="hostile-line text-muted text-xs">
            {event.channelId}
            {event.userId && ` · ${event.userId}`}
          </p>
        </div>
        <span className="shrink-0 font-medium text-good text-xs">Arrived</span>
      </div>
      <Link
        to="/p/$project"
        params={{ project: project.slug }}
        search={{}}
        className={buttonClass({ look: "solid", size: "lg" })}
      >
        Open the feed
        <ArrowRight aria-hidden className="size-4" />
      </Link>
    </>
  );
}

/** The newest event, as soon as there is one: by the stream, and by the listing for what came before it stood. */
function useFirstEvent(project: string): Event | undefined {
  const [event, setEvent] = useState<Event>();
  useEffect(() => {
    async function look() {
      const { events } = await queries.fetchQuery({
        queryKey: ["first-event", project],
        queryFn: () => api<EventList>("/api/events", { query: { project, limit: "1" } }),
        staleTime: 0,
      });
      if (events[0]) setEvent(events[0]);
    }
    return openStream(project, {
      events: (batch) => setEvent(batch.at(-1)),
      fresh: () => void look(),
      reset: () => void look(),
      notification() {},
      status() {},
      refused() {},
    });
  }, [project]);
  return event;
}

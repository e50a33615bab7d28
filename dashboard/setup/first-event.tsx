import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useEffect, useState } from "react";
import type { Event, EventList } from "../../server/event/event.ts";
import type { Project } from "../../server/schemas/project.ts";
import { AuthLayout } from "../account/auth-layout.tsx";
import { meQuery, setUnread } from "../account/me.ts";
import { api } from "../api.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { buttonClass } from "../components/ui/button.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { WaitingMark } from "../components/waiting-mark.tsx";
import { follow, isFollowing, listen } from "../live/connection.ts";
import { queries } from "../queries.ts";
import { ExampleTabs } from "./example-tabs.tsx";
import { clearSetupResult, type SetupResult } from "./setup-result.ts";

/** The last step of setup: shows the API key and a command to copy, and waits for the first event. */
export function FirstEvent({ project, secret }: SetupResult) {
  // Load the account, so that live notifications can update its unread count.
  useQuery(meQuery);
  const event = useFirstEvent(project.slug);
  return (
    <AuthLayout
      wide
      title="Send your first event"
      lead={`Your project "${project.name}" is ready. This is its API key.`}
    >
      <section aria-label="API key" className="flex flex-col gap-2">
        <SecretBox secret={secret} />
        <p className="text-muted text-xs">Copy it now. You won't see it again.</p>
      </section>
      <ExampleTabs apiKey={secret} />
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
    </AuthLayout>
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
        <span className="shrink-0 font-medium text-good text-xs">Received</span>
      </div>
      <Link
        to="/p/$project"
        params={{ project: project.slug }}
        search={{}}
        onClick={clearSetupResult}
        className={buttonClass({ variant: "solid", size: "lg" })}
      >
        Open the feed
        <ArrowRight aria-hidden className="size-4" />
      </Link>
    </>
  );
}

/** The newest event, once there is one: from the stream, or from the listing if it came before. */
function useFirstEvent(project: string): Event | undefined {
  const [event, setEvent] = useState<Event>();
  useEffect(() => {
    async function fetchNewest() {
      const { events } = await api<EventList>("/api/events", { query: { project, limit: "1" } });
      if (events[0]) setEvent(events[0]);
    }
    const tryFetch = () => void fetchNewest().catch(() => {});
    follow(project);
    if (isFollowing(project)) tryFetch();
    return listen(project, {
      events: (batch) => setEvent(batch.at(-1)),
      // For the bell of the feed that opens next.
      notifications: (_, unread) => setUnread(queries, unread),
      fresh: tryFetch,
      reset: tryFetch,
      recovered: tryFetch,
    });
  }, [project]);
  return event;
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Inbox } from "lucide-react";
import { channelsQuery } from "../channels/channels.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { WaitingMark } from "../components/waiting-mark.tsx";
import { useCan } from "../projects/can.ts";
import { ExampleTabs } from "../setup/example-tabs.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import type { Filters } from "./filters.ts";
import { NoMatches } from "./no-matches.tsx";

export type EmptyFeedProps = { project: string; filters: Filters; change: (filters: Filters) => void };

/** A feed without events: how to send the first ones, or what to search for instead. */
export function EmptyFeed({ project, filters, change }: EmptyFeedProps) {
  const { data: channels = [], isPending, isSuccess } = useQuery(channelsQuery(project));
  const { channel, ...others } = filters;
  const mayGetKey = useCan()("keys:manage");
  if (isPending) return <FeedSkeleton />;
  const isUnknown = isSuccess && channel !== undefined && !channels.some(({ id }) => id === channel);
  const projectIsEmpty = !channels.some(({ events }) => events > 0);
  if (Object.keys(others).length > 0 || (isUnknown && !projectIsEmpty)) {
    return (
      <NoMatches
        project={project}
        filters={filters}
        unknownChannel={isUnknown ? channel : undefined}
        change={change}
      />
    );
  }
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-4 py-10 md:py-16">
      <div className="mx-auto flex max-w-xl flex-col gap-6">
        {projectIsEmpty ? (
          <div className="flex flex-col items-center gap-4 text-center">
            <WaitingMark />
            <div role="status">
              <h2 className="font-semibold text-xl">Waiting for your first event</h2>
            </div>
            <p className="max-w-sm text-balance text-muted text-sm">
              Send one like this and watch it appear here. You need an API key for this project
              {mayGetKey ? "." : ": ask an owner or admin for one."}
            </p>
          </div>
        ) : (
          <div className="flex flex-col items-center gap-3 text-center">
            <div className="flex size-11 items-center justify-center rounded-xl border border-line bg-raised text-faint">
              <Inbox aria-hidden className="size-5" />
            </div>
            <h2 className="font-semibold text-lg">No events in this channel yet</h2>
            <p className="max-w-sm text-balance text-muted text-sm">
              Events appear here as soon as they arrive.
            </p>
          </div>
        )}
        <ExampleTabs apiKey="YOUR_API_KEY" channel={channel} />
        {mayGetKey && (
          <div className="flex justify-center">
            <Link to="/p/$project/keys" params={{ project }} className={buttonClass()}>
              Get an API key
            </Link>
          </div>
        )}
      </div>
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Hash } from "lucide-react";
import { Suspense, useCallback, useMemo } from "react";
import { isTemporary } from "../api.ts";
import { ChannelLine, EditChannel } from "../channels/channel-line.tsx";
import { channelsQuery } from "../channels/channels.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { ErrorState } from "../components/ui/states.tsx";
import { eventQuery } from "../event/event-query.ts";
import { LiveIndicator } from "../live/live-indicator.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import type { EmptyFeedProps } from "./empty-feed.tsx";
import { FeedList } from "./feed-list.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type Filters, filtersIn, searchFault } from "./filters.ts";
import { useFeed } from "./use-feed.ts";

const EmptyFeed = lazyPart<EmptyFeedProps>(async () => (await import("./empty-feed.tsx")).EmptyFeed);

/** The live feed of a project or of one channel; an event that is open stands beside it, or covers it on a phone. */
export function FeedPage() {
  const params = useParams({ strict: false });
  const project = params.project ?? "";
  const search = filtersIn(useSearch({ strict: false }));
  const filters: Filters = { ...search, ...(params.channel !== undefined && { channel: params.channel }) };
  const key = JSON.stringify(filters);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when they are others
  const stable = useMemo(() => filters, [key]);
  const { kept, state } = useFeed(project, stable);
  const { data: channels } = useQuery(channelsQuery(project));
  const fault = searchFault(stable);
  const navigate = useNavigate();

  const change = useCallback(
    ({ channel, ...rest }: Filters) => {
      if (channel === undefined) void navigate({ to: "/p/$project", params: { project }, search: rest });
      else
        void navigate({
          to: "/p/$project/channels/$channel",
          params: { project, channel },
          search: rest,
        });
    },
    [navigate, project],
  );
  const addFilter = useCallback(
    (name: string, value: string) => change({ ...stable, [name]: value }),
    [change, stable],
  );

  const channelId = stable.channel;
  const channel = channels?.find((each) => each.id === channelId);
  const title = channel?.name ?? channelId ?? "All events";
  const { channel: _, ...chips } = stable;
  const eventOpen = params.id !== undefined;
  // A channel that the title names already needs no chip; one that is a filter of the address has its own.
  const channelIsPage = params.channel !== undefined || eventOpen;
  const { data: opened } = useQuery({ ...eventQuery(project, params.id ?? ""), enabled: eventOpen });

  return (
    <>
      <PageHeader
        title={title}
        {...(opened && { tabTitle: opened.name })}
        {...(eventOpen && { className: "max-md:hidden" })}
        icon={
          channel?.icon ? (
            <EventIcon icon={channel.icon} name={channel.name} size="sm" bare />
          ) : (
            channelId !== undefined && <Hash aria-hidden className="size-4 shrink-0 text-faint" />
          )
        }
        beside={
          <>
            {channel && <EditChannel key={channel.id} channel={channel} />}
            <LiveIndicator />
          </>
        }
      />
      {channel && <ChannelLine channel={channel} {...(eventOpen && { className: "max-md:hidden" })} />}
      <div className="flex min-h-0 flex-1">
        <section
          aria-label="Feed"
          className={clsx("flex min-w-0 flex-1 flex-col", eventOpen && "max-md:invisible")}
        >
          <FilterBar project={project} filters={channelIsPage ? chips : stable} change={withChannel} />
          {state.status === "loading" && <FeedSkeleton />}
          {state.status === "error" &&
            (isTemporary(state.error) ? (
              <ErrorState
                title="Events couldn't be loaded"
                error={state.error}
                retry={() => void kept.feed.reload()}
              />
            ) : (
              <ErrorState
                title={fault === null ? "These filters don't work" : "This search isn't valid"}
                error={fault === null ? state.error : new Error(fault)}
                action={<Button onClick={() => change({})}>Clear filters</Button>}
              />
            ))}
          {state.status === "ready" &&
            (state.entries.length === 0 ? (
              <Suspense fallback={<FeedSkeleton />}>
                <EmptyFeed project={project} filters={stable} clear={() => change({})} />
              </Suspense>
            ) : (
              <FeedList
                key={`${project} ${key}`}
                kept={kept}
                state={state}
                project={project}
                filters={stable}
                openId={params.id}
                label={title}
                addFilter={addFilter}
              />
            ))}
        </section>
        <Outlet />
      </div>
    </>
  );

  /** Where the chips leave out the channel, what they change to stays in it. */
  function withChannel(changed: Filters) {
    change(channelIsPage && channelId !== undefined ? { channel: channelId, ...changed } : changed);
  }
}

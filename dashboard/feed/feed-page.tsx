import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Filter, Hash } from "lucide-react";
import { Suspense, useCallback, useEffect, useMemo } from "react";
import type { Channel } from "../../server/schemas/channel.ts";
import type { Sidebar } from "../../server/schemas/view.ts";
import { isTemporary } from "../api.ts";
import { ChannelLine } from "../channels/channel-line.tsx";
import { channelsQuery, sidebarQuery } from "../channels/channels.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { EventIcon } from "../components/event-icon.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { ErrorState } from "../components/ui/states.tsx";
import { eventQuery } from "../event/event-query.ts";
import { LiveIndicator } from "../live/live-indicator.tsx";
import { useCan } from "../projects/can.ts";
import { clearSetupResult, loadSetupResult } from "../setup/setup-result.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { type TimeFilter, timeIn, withoutTime } from "../time-range/time-range.ts";
import { TimelinePart } from "../timeline/timeline-part.tsx";
import { useOpenView } from "../views/views.ts";
import type { EmptyFeedProps } from "./empty-feed.tsx";
import { FeedControls } from "./feed-controls.tsx";
import { FeedList } from "./feed-list.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import { type ChangeOptions, FilterBar } from "./filter-bar.tsx";
import {
  chosenIn,
  type Filters,
  filtersIn,
  isExcluding,
  mistakeIn,
  type PickFilter,
  splitIn,
  typedIn,
  without,
} from "./filters.ts";
import { LazyFeedTools } from "./lazy-feed-tools.tsx";
import { tagKeysOf } from "./rows.ts";
import { useFeed, useSettled } from "./use-feed.ts";

const EditChannel = lazyPart<{ channel: Channel }>(
  async () => (await import("../channels/edit-channel.tsx")).EditChannel,
);
const FeedNotes = lazyPart<{ project: string }>(async () => (await import("./feed-notes.tsx")).FeedNotes);
const EmptyFeed = lazyPart<EmptyFeedProps>(async () => (await import("./empty-feed.tsx")).EmptyFeed);

const hasNotes = ({ openAlerts, activeSilences }: Sidebar) => openAlerts + activeSilences > 0;

/** The live feed of a project or a channel. An open event is next to it, or covers it on phones. */
export function FeedPage() {
  const params = useParams({ strict: false });
  const project = params.project ?? "";
  const search = useSearch({ strict: false });
  const { split } = splitIn(search);
  const { typed = "" } = typedIn(search);
  const filters = filtersIn(search, params.channel);
  const key = JSON.stringify(filters);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key changes when the filters do
  const stableFilters = useMemo(() => filters, [key]);
  const feed = useFeed(project, stableFilters, typed !== "");
  const shown = useSettled({ ...feed, filters: stableFilters }, typed !== "");
  const { cached, state } = shown;
  const hasEvents = state.entries.length > 0;
  useEffect(() => {
    // The project's first key was shown until now.
    if (hasEvents && loadSetupResult()?.project.slug === project) clearSetupResult();
  }, [hasEvents, project]);
  const { data: channels } = useQuery(channelsQuery(project));
  const { data: isNoted = false } = useQuery({ ...sidebarQuery(project), select: hasNotes });
  const mistake = mistakeIn(stableFilters.q ?? "");
  const navigate = useNavigate();
  const can = useCan();

  const change = useCallback(
    ({ channel, ...others }: Filters, { typed, replace = false }: ChangeOptions = {}) => {
      const rest = { ...others, ...splitIn({ split }), ...typedIn({ typed }) };
      if (channel === undefined)
        void navigate({ to: "/p/$project", params: { project }, search: rest, replace });
      else
        void navigate({
          to: "/p/$project/channels/$channel",
          params: { project, channel },
          search: rest,
          replace,
        });
    },
    [navigate, project, split],
  );
  const type = useCallback(
    (text: string) =>
      void navigate({
        to: ".",
        search: (now) => ({ ...now, typed: text || undefined }),
        // One step back leads to the page before anything was typed.
        replace: typed !== "",
      }),
    [navigate, typed],
  );
  const pick = useCallback<PickFilter>(
    (click, key, value) =>
      change(isExcluding(click) ? without(stableFilters, key, value) : { ...stableFilters, [key]: value }),
    [change, stableFilters],
  );

  const channelId = stableFilters.channel;
  const channel = channels?.find((each) => each.id === channelId);
  const openView = useOpenView(project);
  const title = openView?.name ?? channel?.name ?? channelId ?? "All events";
  const chosen = withoutTime({
    ...chosenIn(search),
    ...(params.channel !== undefined && { channel: params.channel }),
  });
  const { channel: _, ...chips } = chosen;
  const eventOpen = params.id !== undefined;
  // A channel that the title already names needs no chip; one from the URL's filters has one.
  const channelIsPage = params.channel !== undefined || eventOpen;
  // Before the first event, nothing distracts from how to send it.
  const isBlank = state.status === "ready" && state.entries.length === 0 && key === "{}";
  const { data: opened } = useQuery({ ...eventQuery(project, params.id ?? ""), enabled: eventOpen });

  return (
    <>
      <PageHeader
        title={title}
        {...(opened && { tabTitle: opened.name })}
        {...(eventOpen && { className: "max-md:hidden" })}
        icon={
          openView ? (
            <Filter aria-hidden className="size-4 shrink-0 text-faint" />
          ) : channel?.icon ? (
            <EventIcon icon={channel.icon} name={channel.name} size="sm" bare />
          ) : (
            channelId !== undefined && <Hash aria-hidden className="size-4 shrink-0 text-faint" />
          )
        }
        titleActions={
          <>
            {channel && !openView && can("channels:change") && (
              // The page is of use without it.
              <ErrorBoundary resetKey={channel.id} fallback={() => null}>
                <Suspense fallback={<span aria-hidden className="size-7 max-md:hidden" />}>
                  <EditChannel key={channel.id} channel={channel} />
                </Suspense>
              </ErrorBoundary>
            )}
            <LiveIndicator isPaused={state.isPaused} />
            <FeedControls feed={cached.feed} state={state} />
          </>
        }
      />
      {channel && !openView && (
        <ChannelLine channel={channel} {...(eventOpen && { className: "max-md:hidden" })} />
      )}
      <div className="flex min-h-0 flex-1">
        <section
          aria-label="Feed"
          className={clsx("flex min-w-0 flex-1 flex-col", eventOpen && "max-md:invisible")}
        >
          {isNoted && (
            // The page is of use without it.
            <ErrorBoundary resetKey={project} fallback={() => null}>
              <Suspense fallback={null}>
                <FeedNotes project={project} />
              </Suspense>
            </ErrorBoundary>
          )}
          <FilterBar
            project={project}
            filters={channelIsPage ? chips : chosen}
            change={withChannel}
            typed={typed}
            type={type}
          >
            {state.status !== "error" && (
              <LazyFeedTools
                project={project}
                filters={stableFilters}
                isReady={feed.state.status === "ready"}
                isSplit={split !== undefined}
              />
            )}
          </FilterBar>
          {!isBlank && (
            <TimelinePart
              project={project}
              filters={stableFilters}
              isReady={feed.state.status !== "loading"}
              tagKeys={() => tagKeysOf(cached.feed.snapshot().entries)}
              showTime={(time: TimeFilter) => change({ ...withoutTime(stableFilters), ...time })}
            />
          )}
          {state.status === "loading" && <FeedSkeleton />}
          {state.status === "error" &&
            (isTemporary(state.error) ? (
              <ErrorState
                title="Events couldn't be loaded"
                error={state.error}
                retry={() => void cached.feed.reload()}
              />
            ) : (
              <ErrorState
                title={mistake === null ? "These filters don't work" : "This search isn't valid"}
                error={mistake ?? state.error}
                action={<Button onClick={() => change({})}>Clear filters</Button>}
              />
            ))}
          {state.status === "ready" &&
            (state.entries.length === 0 ? (
              <Suspense fallback={<FeedSkeleton />}>
                <EmptyFeed project={project} filters={shown.filters} change={change} />
              </Suspense>
            ) : (
              <FeedList
                key={`${project} ${JSON.stringify(shown.filters)}`}
                cached={cached}
                state={state}
                isStale={shown.isStale}
                project={project}
                filters={shown.filters}
                split={split}
                openId={params.id}
                label={title}
                pick={pick}
              />
            ))}
        </section>
        <Outlet />
      </div>
    </>
  );

  /** The chips omit the time, and the channel if it is the page. Changed filters keep both. */
  function withChannel(changed: Filters, options?: ChangeOptions) {
    const channelOfPage: Filters =
      channelIsPage && chosen.channel !== undefined ? { channel: chosen.channel } : {};
    change({ ...channelOfPage, ...timeIn(stableFilters), ...changed }, options);
  }
}

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, BellOff, SearchX, Trash2, X } from "lucide-react";
import { Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Event } from "../../server/event/event.ts";
import { ApiError, errorMessage, isTemporary } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { EventIcon } from "../components/event-icon.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, IconButton } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { CopyButton } from "../components/ui/copy-button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { filtersIn, splitIn } from "../feed/filters.ts";
import type { MuteChoicesProps } from "../notifications/mute-choices.tsx";
import { useCan } from "../projects/can.ts";
import { OverlayBoundary } from "../shell/overlays.tsx";
import { useShortcuts } from "../shell/shortcuts.tsx";
import type { BeforeProps } from "../users/before.tsx";
import type { DeleteEventProps } from "./delete-dialog.tsx";
import { Deliveries } from "./deliveries.tsx";
import { EventFacts, Section } from "./event-facts.tsx";
import { EventJson } from "./event-json.tsx";
import { eventQuery } from "./event-query.ts";

const DeleteEventDialog = lazyPart<DeleteEventProps>(
  async () => (await import("./delete-dialog.tsx")).default,
);
const MuteChoices = lazyPart<MuteChoicesProps>(
  async () => (await import("../notifications/mute-choices.tsx")).default,
);
const Before = lazyPart<BeforeProps>(async () => (await import("../users/before.tsx")).default);
const Markdown = lazyPart(async () => (await import("./markdown.tsx")).default);

/** One event: a panel to the right of the feed, or the whole page on phones. */
export function EventPage() {
  const { project = "", id = "" } = useParams({ strict: false });
  const { data: event, error, refetch } = useQuery(eventQuery(project, id));
  const close = useClose(project);
  const can = useCan();
  const [deleting, setDeleting] = useState(false);
  const [muting, setMuting] = useState(false);
  useShortcuts({ Escape: close });
  const pane = useRef<HTMLElement>(null);
  const muteButton = useRef<HTMLButtonElement>(null);
  const shown = useRef(id);
  useEffect(() => {
    shown.current = id;
  }, [id]);
  // When the event closes, its row gets the focus, unless something else has it.
  useLayoutEffect(() => {
    const opened = pane.current!;
    return () => {
      if (!opened.contains(document.activeElement)) return;
      const row = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(shown.current)}"]`);
      row?.focus({ preventScroll: true });
    };
  }, []);

  return (
    <section
      ref={pane}
      aria-label="Event"
      className="flex w-full min-w-0 flex-col bg-surface max-md:absolute max-md:inset-0 max-md:z-20 md:w-[46%] md:min-w-68 md:max-w-[580px] md:shrink-0 md:border-line md:border-l"
    >
      <div className="flex h-13 shrink-0 items-center gap-2 border-line border-b px-2 md:h-11 md:pr-2 md:pl-5">
        <IconButton label="Back to feed" onClick={close} className="size-10 md:hidden">
          <ArrowLeft aria-hidden className="size-5" />
        </IconButton>
        <span className="flex-1 font-medium text-muted text-sm">Event</span>
        {!error && (
          <>
            <CopyButton text={location.href} label="Copy link" variant="ghost" className="h-7" />
            <IconButton
              ref={muteButton}
              label="Mute"
              title="Mute"
              aria-expanded={muting}
              onClick={() => setMuting(!muting)}
              className="size-8 max-md:size-10"
            >
              <BellOff aria-hidden className="size-4" />
            </IconButton>
            {can("events:delete") && (
              <IconButton
                label="Delete event"
                title="Delete"
                onClick={() => setDeleting(true)}
                className="size-8 max-md:size-10"
              >
                <Trash2 aria-hidden className="size-4" />
              </IconButton>
            )}
          </>
        )}
        <IconButton label="Close event" title="Close (Esc)" onClick={close} className="size-8 max-md:hidden">
          <X aria-hidden className="size-4" />
        </IconButton>
      </div>
      {deleting && (
        <OverlayBoundary close={() => setDeleting(false)}>
          <DeleteEventDialog project={project} id={id} close={() => setDeleting(false)} onDeleted={close} />
        </OverlayBoundary>
      )}
      {muting && event && (
        <OverlayBoundary close={() => setMuting(false)}>
          <MuteChoices
            project={project}
            channel={event.channelId}
            name={event.name}
            onDone={() => {
              setMuting(false);
              muteButton.current?.focus();
            }}
            className="border-line border-b px-4 py-3 md:px-5"
          />
        </OverlayBoundary>
      )}
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error ? (
          <EventError error={error} retry={() => void refetch()} close={close} />
        ) : event ? (
          <ErrorBoundary resetKey={event} fallback={() => <BrokenEvent event={event} />}>
            <header className="flex items-start gap-3.5 px-4 pt-5 pb-4 md:px-5">
              <EventIcon icon={event.icon} name={event.name} size="lg" />
              <div className="min-w-0 flex-1">
                <h1 className="hostile font-semibold text-xl leading-6">{event.name}</h1>
                <p className="mt-1 text-muted text-sm">
                  <time dateTime={event.createdAt} title={formatDate(event.createdAt, "exact")}>
                    {formatDate(event.createdAt, "medium")}
                  </time>
                  <span aria-hidden> · </span>
                  <RelativeTime at={event.createdAt} form="long" />
                </p>
              </div>
            </header>
            <EventFacts event={event} project={project} />
            {event.description && (
              <Section title="Description">
                <ErrorBoundary resetKey={event} fallback={() => <PlainText text={event.description!} />}>
                  <Suspense fallback={<Skeleton className="h-16" />}>
                    <Markdown text={event.description} />
                  </Suspense>
                </ErrorBoundary>
              </Section>
            )}
            {event.userId !== "" && (
              <Section title="What happened before this">
                <Suspense fallback={<Skeleton className="h-8" />}>
                  <Before key={id} project={project} id={id} />
                </Suspense>
              </Section>
            )}
            <Deliveries project={project} id={id} />
            <EventJson event={event} />
          </ErrorBoundary>
        ) : (
          <EventSkeleton />
        )}
      </div>
    </section>
  );
}

function EventError({ error, retry, close }: { error: unknown; retry: () => void; close: () => void }) {
  if (isTemporary(error))
    return <ErrorState title="The event couldn't be loaded" error={error} retry={retry} />;
  const isGone = error instanceof ApiError && error.status === 404;
  return (
    <EmptyState
      icon={<SearchX aria-hidden />}
      title={isGone ? "Event not found" : "The event couldn't be loaded"}
      action={<Button onClick={close}>Back to feed</Button>}
    >
      {isGone ? "It may have been deleted, or it's in another project." : errorMessage(error)}
    </EmptyState>
  );
}

/** The fallback for an event that fails to render: its JSON. */
function BrokenEvent({ event }: { event: Event }) {
  return (
    <div className="flex flex-col gap-4 px-4 py-5 md:px-5">
      <p role="alert" className="text-muted text-sm">
        This event can't be shown in full. Here is its data.
      </p>
      <CodeBlock label="JSON" code={JSON.stringify(event, null, 2)} />
    </div>
  );
}

function PlainText({ text }: { text: string }) {
  return <p className="hostile whitespace-pre-wrap text-base">{text}</p>;
}

/** Returns to the feed with its filters, or to its channel. Resolves once the event is closed. */
function useClose(project: string): () => Promise<void> {
  const navigate = useNavigate();
  const shown = useSearch({ strict: false });
  const { channel, ...filters } = filtersIn(shown);
  const search = { ...filters, ...splitIn(shown) };
  return () => {
    if (channel === undefined) return navigate({ to: "/p/$project", params: { project }, search });
    return navigate({ to: "/p/$project/channels/$channel", params: { project, channel }, search });
  };
}

function EventSkeleton() {
  return (
    <div className="flex flex-col gap-4 px-5 pt-5">
      <div className="flex gap-3.5">
        <Skeleton className="size-11 rounded-xl" />
        <div className="flex flex-1 flex-col gap-2 pt-1">
          <Skeleton className="h-4 w-48" />
          <Skeleton className="h-3 w-64" />
        </div>
      </div>
      <Skeleton className="h-32" />
      <Skeleton className="h-24" />
    </div>
  );
}

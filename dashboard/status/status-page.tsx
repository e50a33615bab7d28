import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ServerStatus } from "../../server/schemas/server-status.ts";
import { api } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { sizeOf } from "../components/size.ts";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { PageHeader } from "../shell/page-header.tsx";

const refetchMs = 5_000;
/** Below this, recording could end soon. */
const freeBytesMin = 1e9;
/** Before that, it should be known what to do. */
const fullSoonDays = 14;
/** Further away, a rate says nothing. */
const farDays = 3_650;
/** Commits that take longer make clients wait. */
const slowCommitMs = 100;
/** A backup should not be older than two days. */
const backupAgeMaxMs = 2 * 86_400_000;
/** Changes are backed up every few seconds, and a new backup takes a while. */
const behindSecondsMax = 60;
/** Events move to ClickHouse within an hour, and that takes a while. */
const behindSecondsUsual = 2 * 3_600;
/** The server counts no further. */
const waitingCounted = 1_000_000;

const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => api<ServerStatus>("/api/status", { signal }),
  refetchInterval: refetchMs,
});

/** The server's status, for the owner of the installation. */
export function StatusPage() {
  const { data: status, error, refetch } = useQuery(statusQuery);
  return (
    <>
      <PageHeader title="Server status" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard */}
      <section aria-label="Server status" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-3xl flex-col gap-6 px-4 py-6 md:px-8 md:py-8">
          {error && !status ? (
            <ErrorState title="The status couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : status ? (
            <Sections status={status} />
          ) : (
            <Skeleton className="h-96 rounded-lg" />
          )}
        </div>
      </section>
    </>
  );
}

function Sections({ status }: { status: ServerStatus }) {
  const { database, olderEvents, recording, notifying, backup } = status;
  const failed = notifying.deliveries.dead ?? 0;
  return (
    <>
      <Section title="Storage">
        <Fact label="Database">{sizeOf(database.bytes)}</Fact>
        {database.freeBytes !== null && (
          <Fact label="Free disk space" warning={database.freeBytes < freeBytesMin && "Free some space soon"}>
            {sizeOf(database.freeBytes)}
          </Fact>
        )}
        {database.freeBytes !== null && (
          <Fact
            label="Full at this rate"
            warning={isFullSoon(database) && "Free some space, or keep events for less time"}
          >
            {timeUntilFull(database.daysUntilFull)}
          </Fact>
        )}
        {/* A database server has its own tools. */}
        {database.freeBytes !== null && (
          <Fact label="Last backup" warning={backup.failure ?? backupWarning(backup)}>
            {backup.last ? <RelativeTime at={backup.last.at} form="long" /> : "Never"}
          </Fact>
        )}
        {backup.changes && (
          <Fact label="Continuous backup" warning={changesWarning(backup.changes)}>
            {backup.changes.behindSeconds < behindSecondsMax
              ? "Up to date"
              : `${countOf(Math.round(backup.changes.behindSeconds), "second")} behind`}
          </Fact>
        )}
        {backup.isScheduled && (
          <Fact label="Last test restore" warning={backup.verified?.ok === false && backup.verified.detail}>
            {backup.verified ? <RelativeTime at={backup.verified.at} form="long" /> : "Not yet"}
          </Fact>
        )}
      </Section>
      {olderEvents && <OlderEvents status={olderEvents} />}
      <Section title="Recording">
        <Fact label="Stored in the last minute">{countOf(recording.storedInMinute, "event")}</Fact>
        <Fact
          label="Commit, median and slowest 1%"
          warning={(recording.commitMs?.p99 ?? 0) > slowCommitMs && "The disk is slow"}
        >
          {recording.commitMs
            ? `${milliseconds(recording.commitMs.p50)} and ${milliseconds(recording.commitMs.p99)}`
            : "None yet"}
        </Fact>
        <Fact label="Waiting for a commit">{countOf(recording.waiting, "event")}</Fact>
        <Fact label="Rejected events kept">{formatNumber(recording.rejected)}</Fact>
        <Fact label="Live streams">{formatNumber(recording.streams)}</Fact>
      </Section>
      <Section title="Notifying">
        <Fact label="Events to be delivered">{formatNumber(notifying.outbox)}</Fact>
        <Fact label="Waiting deliveries">{formatNumber(notifying.deliveries.waiting ?? 0)}</Fact>
        <Fact label="Failed deliveries">{formatNumber(failed)}</Fact>
        <Fact
          label="Failing destinations"
          warning={notifying.failingDestinations > 0 && "See the destinations of the projects"}
        >
          {formatNumber(notifying.failingDestinations)}
        </Fact>
        <Fact label="Unfinished jobs">{formatNumber(status.unfinishedJobs)}</Fact>
      </Section>
      <Section title="Process">
        <Fact label="Version">{status.commit ? `${status.version} (${status.commit})` : status.version}</Fact>
        <Fact label="Started">
          <RelativeTime at={status.startedAt} form="long" />
        </Fact>
        <Fact label="Memory">{sizeOf(status.memoryBytes)}</Fact>
      </Section>
    </>
  );
}

/** The events that were moved to a second database, and those that wait. */
function OlderEvents({ status }: { status: NonNullable<ServerStatus["olderEvents"]> }) {
  const { engine, failure, blocks, events, bytes, servers, waiting, shipping } = status;
  const isMany = waiting.events >= waitingCounted;
  return (
    <Section title={engine}>
      <Fact label="Older events" warning={failure ?? false}>
        {failure === null ? "Can be read" : "Can't be read"}
      </Fact>
      {servers.length > 1 && servers.map((server) => <OlderServer key={server.address} server={server} />)}
      <Fact label="Moved there">
        {countOf(events, "event")} in {countOf(blocks, "block")}
      </Fact>
      <Fact label="Size there">{bytes === null ? "Unknown" : sizeOf(bytes)}</Fact>
      <Fact
        label="Still to move"
        warning={
          shipping.failure ?? (waiting.seconds > behindSecondsUsual && "They should move within an hour")
        }
      >
        {isMany ? "More than a million events" : countOf(waiting.events, "event")}
        {waiting.events > 0 && (
          <>
            , the first from{" "}
            <RelativeTime at={new Date(Date.now() - waiting.seconds * 1_000).toISOString()} form="long" />
          </>
        )}
      </Fact>
      <Fact label="Failed attempts to move">{formatNumber(shipping.failedAttempts)}</Fact>
    </Section>
  );
}

/** One of several servers. As long as it lacks something, there is one copy fewer. */
function OlderServer({
  server: { address, failure, isCurrent, lacks },
}: {
  server: NonNullable<ServerStatus["olderEvents"]>["servers"][number];
}) {
  const lacking = [
    lacks.blocks > 0 && `lacks ${countOf(lacks.events, "event")} in ${countOf(lacks.blocks, "block")}`,
    lacks.removals > 0 && `owes ${countOf(lacks.removals, "removal")}`,
  ].filter((text) => text !== false);
  return (
    <Fact
      label={address}
      warning={failure ?? (!isCurrent && "There is one copy fewer until it has all events")}
    >
      {isCurrent ? "Has all events" : `Not read${lacking.length > 0 ? `: ${lacking.join(", ")}` : ""}`}
    </Fact>
  );
}

function isFullSoon({ daysUntilFull }: ServerStatus["database"]): boolean {
  return daysUntilFull !== null && daysUntilFull < fullSoonDays;
}

function timeUntilFull(days: number | null): string {
  if (days === null) return "Known after a day";
  return days > farDays ? "Not within ten years" : `In ${countOf(Math.floor(days), "day")}`;
}

function backupWarning({ last, isScheduled }: ServerStatus["backup"]): string | false {
  if (!last) return isScheduled ? "The first one is still to come" : "Set TIDINGS_BACKUP_TO";
  return Date.now() - Date.parse(last.at) > backupAgeMaxMs && "Older than two days";
}

function changesWarning({ behindSeconds, failure }: NonNullable<ServerStatus["backup"]["changes"]>) {
  return failure ?? (behindSeconds > behindSecondsMax && "What is recorded now can't be restored yet");
}

function milliseconds(ms: number): string {
  return `${formatNumber(Math.round(ms * 10) / 10)} ms`;
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="overflow-hidden rounded-lg border border-line">
      <h2 className="border-line border-b bg-canvas px-4 py-2 font-semibold text-sm">{title}</h2>
      <dl className="divide-y divide-line">{children}</dl>
    </section>
  );
}

function Fact({
  label,
  warning,
  children,
}: {
  label: string;
  warning?: string | false;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 px-4 py-2.5 text-sm">
      <dt className="flex-1 text-muted">{label}</dt>
      <dd className="ml-auto text-right tabular-nums">
        {children}
        {warning && <p className="text-warn text-xs">{warning}</p>}
      </dd>
    </div>
  );
}

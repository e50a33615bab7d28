import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Download, ScrollText } from "lucide-react";
import { useDeferredValue, useState } from "react";
import type { AuditEntry } from "../../server/schemas/audit.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Field, SelectField } from "../components/ui/field.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { TimeRangePicker } from "../time-range/time-range-picker.tsx";
import { type AuditFilter, auditParameters, auditQuery } from "./audit.ts";
import { actionKinds, actionText, actorText, detailText } from "./sentences.ts";

const noFilter: AuditFilter = { action: "", actor: "", time: {} };

/** The project's audit log. */
export function AuditPage() {
  const project = useProjectSlug();
  const [filter, setFilter] = useState(noFilter);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...auditQuery(project, useDeferredValue(filter)),
    placeholderData: keepPreviousData,
  });
  const entries = data?.pages.flatMap((page) => page.entries);
  const isFiltered =
    filter.action !== "" || filter.actor.trim() !== "" || Object.keys(filter.time).length > 0;
  return (
    <>
      <PageHeader title="Audit log" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <p className="max-w-xl text-muted text-sm">
            Who changed this project, and when its members signed in.
          </p>
          <div className="flex flex-wrap items-end gap-3">
            <SelectField
              label="Show"
              className="w-full sm:w-52"
              value={filter.action}
              onChange={(event) => setFilter({ ...filter, action: event.target.value })}
            >
              <option value="">Everything</option>
              {Object.entries(actionKinds).map(([kind, label]) => (
                <option key={kind} value={kind}>
                  {label}
                </option>
              ))}
            </SelectField>
            <Field
              label="By"
              className="w-full sm:w-64"
              placeholder="Email address or API key"
              type="search"
              autoComplete="off"
              spellCheck={false}
              value={filter.actor}
              onChange={(event) => setFilter({ ...filter, actor: event.target.value })}
            />
            <div className="flex flex-col gap-1.5">
              <span className="font-medium text-sm">Time</span>
              <TimeRangePicker
                isOutlined
                time={filter.time}
                change={(time) => setFilter({ ...filter, time })}
              />
            </div>
            <div className="flex gap-2 sm:ml-auto">
              <ExportLink project={project} filter={filter} format="csv" />
              <ExportLink project={project} filter={filter} format="ndjson" />
            </div>
          </div>
          {error && !entries ? (
            <ErrorState title="The audit log couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !entries ? (
            <Skeleton className="h-64 rounded-lg" />
          ) : entries.length === 0 ? (
            <EmptyState
              icon={<ScrollText aria-hidden />}
              title={isFiltered ? "No matching entries" : "Nothing yet"}
              action={
                isFiltered ? <Button onClick={() => setFilter(noFilter)}>Clear filters</Button> : undefined
              }
            >
              {isFiltered
                ? "Change the filters to see other entries."
                : "Changes to members, keys, channels and settings appear here."}
            </EmptyState>
          ) : (
            <ul className="overflow-hidden rounded-lg border border-line bg-raised">
              {entries.map((entry) => (
                <Entry key={entry.id} entry={entry} />
              ))}
            </ul>
          )}
          {hasNextPage && (
            <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Show older
            </Button>
          )}
        </div>
      </div>
    </>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const detail = detailText(entry);
  const hasFailed = entry.action === "session.failed";
  return (
    <li className="flex items-start justify-between gap-4 border-line border-b px-4 py-3 last:border-b-0">
      <div className="flex min-w-0 flex-col gap-0.5">
        <p className="hostile text-sm">
          <span className="font-medium">{actorText(entry)}</span>{" "}
          <span className={hasFailed ? "text-danger" : "text-muted"}>{actionText(entry)}</span>
          {entry.target !== null && entry.target !== entry.actor.name && (
            <>
              {" "}
              <span className="font-medium">{entry.target}</span>
            </>
          )}
        </p>
        {(detail || entry.address) && (
          <p className="hostile text-faint text-xs">
            {[detail, entry.address && `from ${entry.address}`].filter(Boolean).join(" · ")}
          </p>
        )}
      </div>
      <RelativeTime at={entry.createdAt} form="long" className="shrink-0 text-faint text-xs leading-5" />
    </li>
  );
}

function ExportLink({
  project,
  filter,
  format,
}: {
  project: string;
  filter: AuditFilter;
  format: "csv" | "ndjson";
}) {
  const search = new URLSearchParams({ format });
  for (const [name, value] of Object.entries(auditParameters(project, filter))) {
    if (value !== undefined) search.set(name, value);
  }
  return (
    <a href={`/api/audit?${search}`} download className={buttonClass()}>
      <Download aria-hidden className="size-3.5" />
      {format.toUpperCase()}
    </a>
  );
}

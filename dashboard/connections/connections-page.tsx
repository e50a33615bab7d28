import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ConnectionSummary } from "../../server/schemas/connections.ts";
import { countOf } from "../components/counts.ts";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group, Panel } from "../settings/group.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { connectionIcons } from "./connection-icons.ts";
import { State } from "./connection-nav.tsx";
import { type ConnectionPage, connectionsQuery, connectionTitles, statesOf } from "./connections.ts";

type PageSummary = { text: string; total: (summary: ConnectionSummary) => string | null };

const entries: Record<ConnectionPage, PageSummary> = {
  keys: {
    text: "Your applications send and read events with them.",
    total: ({ keys }) => keys && countOf(keys.active, "active key"),
  },
  webhooks: {
    text: "Addresses that turn the requests of other services into events.",
    total: ({ webhooks }) => countOf(webhooks.total, "webhook"),
  },
  rejected: {
    text: "Invalid events, kept so that you can fix and resend them.",
    total: ({ rejected }) => (rejected === 0 ? "None" : null),
  },
  destinations: {
    text: "Chats, servers and other services that get notifications.",
    total: ({ destinations }) => countOf(destinations.total, "destination"),
  },
  deliveries: {
    text: "Every notification that was sent, and how that went.",
    total: ({ deliveries }) => (deliveries.dead === 0 ? "None failed" : null),
  },
};

const groups: { title: string; pages: ConnectionPage[] }[] = [
  { title: "Coming in", pages: ["keys", "webhooks", "rejected"] },
  { title: "Going out", pages: ["destinations", "deliveries"] },
];

/** Sums up the project's connections to other programs, and their state. */
export function ConnectionsPage() {
  const project = useProjectSlug();
  const can = useCan();
  const { data, error, refetch } = useQuery(connectionsQuery(project));
  return (
    <>
      <PageHeader title="Connections" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-3xl flex-col gap-8 px-4 py-6 md:px-8 md:py-8">
          {error && !data ? (
            <ErrorState title="Connections couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !data ? (
            <Skeleton className="h-64 rounded-lg" />
          ) : (
            groups.map(({ title, pages }) => (
              <Group key={title} title={title}>
                <Panel>
                  {pages
                    .filter((page) => page !== "keys" || can("keys:manage"))
                    .map((page) => (
                      <Row key={page} page={page} summary={data} />
                    ))}
                </Panel>
              </Group>
            ))
          )}
        </div>
      </div>
    </>
  );
}

function Row({ page, summary }: { page: ConnectionPage; summary: ConnectionSummary }) {
  const project = useProjectSlug();
  const { text, total } = entries[page];
  const Icon = connectionIcons[page];
  const state = statesOf(summary)[page];
  const count = total(summary);
  return (
    <Link
      to={`/p/$project/${page}`}
      params={{ project }}
      search={{}}
      className="flex min-h-16 items-center gap-4 px-4 py-3 hover:bg-hover focus-visible:-outline-offset-2"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-faint" />
      <span className="min-w-0 flex-1">
        <span className="block font-medium">{connectionTitles[page]}</span>
        <span className="block text-muted text-sm">{text}</span>
      </span>
      <span className="flex shrink-0 flex-col items-end text-muted text-xs">
        {count}
        {state && <State state={state} />}
      </span>
      <ChevronRight aria-hidden className="size-4 shrink-0 text-faint" />
    </Link>
  );
}

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import { useId } from "react";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { SilenceNotePart } from "../silences/silence-note-part.tsx";
import { AlertItem } from "./alert-item.tsx";
import { alertsQuery } from "./alerts.ts";

/** The open alerts of a project, and those of before. */
export function AlertsPage() {
  const project = useProjectSlug();
  return (
    <>
      <PageHeader title="Alerts" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-6 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-2xl text-pretty text-muted text-sm">
              What a rule found that goes on until it is resolved: a silence, too many events, a metric, or
              what another event ends.
            </p>
            <div className="flex flex-wrap gap-2">
              <Link to="/p/$project/silences" params={{ project }} className={buttonClass()}>
                Silences
              </Link>
              <Link to="/p/$project/rules" params={{ project }} className={buttonClass()}>
                Rules
              </Link>
            </div>
          </div>
          <SilenceNotePart className="rounded-lg border" />
          <AlertSection title="Open" state="open" />
          <AlertSection title="Resolved" state="resolved" />
        </div>
      </div>
    </>
  );
}

function AlertSection({ title, state }: { title: string; state: "open" | "resolved" }) {
  const id = useId();
  const project = useProjectSlug();
  const navigate = useNavigate();
  const { alert: opened } = useSearch({ strict: false }) as { alert?: string };
  const query = useInfiniteQuery(alertsQuery(project, state));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  const alerts = data?.pages.flatMap((page) => page.alerts);
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3">
      <h2 id={id} className="font-semibold text-base">
        {title}
      </h2>
      {error && !alerts ? (
        <ErrorState title="Alerts couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !alerts ? (
        <Skeleton className="h-24 rounded-lg" />
      ) : alerts.length === 0 ? (
        <NoAlerts state={state} />
      ) : (
        <ul className="overflow-hidden rounded-lg border border-line bg-raised">
          {alerts.map((alert) => (
            <AlertItem
              key={alert.id}
              project={project}
              alert={alert}
              isOpened={alert.id === opened}
              toggle={() =>
                void navigate({
                  to: "/p/$project/alerts",
                  params: { project },
                  search: alert.id === opened ? {} : { alert: alert.id },
                  replace: true,
                })
              }
            />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </section>
  );
}

function NoAlerts({ state }: { state: "open" | "resolved" }) {
  if (state === "resolved") return <p className="text-muted text-sm">No alert was resolved yet.</p>;
  return (
    <EmptyState icon={<BellRing aria-hidden />} title="Nothing is wrong">
      Rules about silences, counts and metrics open alerts, and so does each rule with a search for what
      resolves it.
    </EmptyState>
  );
}

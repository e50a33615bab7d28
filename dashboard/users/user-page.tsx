import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Eraser, ListFilter, Merge, UserRoundX } from "lucide-react";
import { useState } from "react";
import type { User } from "../../server/schemas/user.ts";
import { ApiError } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { ActivityStrip } from "./activity-strip.tsx";
import { EraseDialog } from "./erase-dialog.tsx";
import { Erasure } from "./erasure.tsx";
import { Journey } from "./journey.tsx";
import { MergeDialog } from "./merge-dialog.tsx";
import { Properties } from "./properties.tsx";
import { UserIds } from "./user-ids.tsx";
import { userQuery } from "./users.ts";

/** One user: who they are, how active, and everything they did. */
export function UserPage() {
  const project = useProjectSlug();
  const { userId = "" } = useParams({ strict: false });
  const { erasure }: { erasure?: string } = useSearch({ strict: false });
  const { data: user, error, refetch } = useQuery({ ...userQuery(project, userId), enabled: !erasure });
  const can = useCan();
  const [isErasing, setErasing] = useState(false);
  const [isMerging, setMerging] = useState(false);
  const isUnknown = error instanceof ApiError && error.code === "user-unknown";
  return (
    <>
      <PageHeader
        title={user?.userId ?? userId}
        icon={
          <Link
            to="/p/$project/users"
            params={{ project }}
            search={{}}
            aria-label="All users"
            className="-ml-1.5 flex size-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
          >
            <ArrowLeft aria-hidden className="size-4" />
          </Link>
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {erasure ? (
          <Erasure id={erasure} project={project} />
        ) : isUnknown ? (
          <EmptyState
            icon={<UserRoundX aria-hidden />}
            title="Nothing is known about this user"
            action={
              <Link to="/p/$project/users" params={{ project }} search={{}} className={buttonClass()}>
                All users
              </Link>
            }
          >
            There are no events with this ID and no properties.
          </EmptyState>
        ) : error && !user ? (
          <ErrorState title="The user couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !user ? (
          <div className="flex flex-col gap-4 p-5">
            <Skeleton className="h-20" />
            <Skeleton className="h-64" />
          </div>
        ) : (
          <div className="mx-auto flex max-w-6xl flex-col gap-6 px-4 py-5 md:px-8 md:py-6 lg:grid lg:grid-cols-[minmax(0,1fr)_300px] lg:items-start lg:gap-10">
            <aside aria-label="About the user" className="flex flex-col gap-6 lg:order-2">
              <Summary user={user} />
              <UserIds project={project} user={user} />
              <Properties project={project} user={user} />
              <Names user={user} project={project} />
              <div className="flex flex-wrap gap-2">
                <Link
                  to="/p/$project"
                  params={{ project }}
                  search={{ userId: user.userId }}
                  className={buttonClass()}
                >
                  <ListFilter aria-hidden className="size-4" />
                  Open in feed
                </Link>
                {can("users:change") && (
                  <Button onClick={() => setMerging(true)}>
                    <Merge aria-hidden className="size-4" />
                    Merge…
                  </Button>
                )}
                {can("users:erase") && (
                  <Button variant="danger" onClick={() => setErasing(true)}>
                    <Eraser aria-hidden className="size-4" />
                    Erase
                  </Button>
                )}
              </div>
            </aside>
            <div className="flex min-w-0 flex-col gap-6">
              <ActivityStrip project={project} userId={user.userId} />
              <Journey project={project} user={user} />
            </div>
          </div>
        )}
      </div>
      {isErasing && user && <EraseDialog project={project} user={user} close={() => setErasing(false)} />}
      {isMerging && user && <MergeDialog project={project} user={user} close={() => setMerging(false)} />}
    </>
  );
}

function Summary({ user: { events, isKnown, firstSeenAt, lastSeenAt } }: { user: User }) {
  const facts: [string, string | null][] = [
    ["First seen", firstSeenAt],
    ["Last seen", lastSeenAt],
  ];
  return (
    <dl className="grid grid-cols-3 gap-4 lg:grid-cols-2">
      <div className="lg:col-span-2">
        <dt className="text-muted text-xs">Events</dt>
        <dd className="flex items-baseline gap-2 font-semibold text-xl">
          {formatNumber(events)}
          {!isKnown && <span className="font-normal text-muted text-xs">Anonymous</span>}
        </dd>
      </div>
      {facts.map(([label, at]) => (
        <div key={label}>
          <dt className="text-muted text-xs">{label}</dt>
          <dd className="text-sm">
            {at === null ? (
              "Never"
            ) : (
              <>
                {formatDate(at, "dayOfYear")}
                <RelativeTime at={at} form="long" className="block text-faint text-xs" />
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Names listed before "more". */
const namesShown = 8;

function Names({ user: { names, userId }, project }: { user: User; project: string }) {
  const [isWhole, setWhole] = useState(false);
  if (names.length === 0) return null;
  const most = names[0]!.events;
  return (
    <section aria-label="Events by name">
      <h2 className="mb-2 font-semibold text-sm">What they do</h2>
      <ul className="flex flex-col gap-0.5">
        {(isWhole ? names : names.slice(0, namesShown)).map(({ name, events }) => (
          <li key={name} className="relative">
            <span
              aria-hidden
              className="absolute inset-y-0 left-0 rounded bg-accent-soft"
              style={{ width: `${(events / most) * 100}%` }}
            />
            <Link
              to="/p/$project"
              params={{ project }}
              search={{ userId, name }}
              className="relative flex min-h-7 items-center gap-2 px-2 text-sm hover:underline max-md:min-h-10"
            >
              <span className="hostile-line flex-1">{name}</span>
              <span className="shrink-0 text-muted">{formatNumber(events)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {names.length > namesShown && !isWhole && (
        <Button variant="ghost" className="mt-1 -ml-1" onClick={() => setWhole(true)}>
          {countOf(names.length - namesShown, "more name", "more names")}
        </Button>
      )}
    </section>
  );
}

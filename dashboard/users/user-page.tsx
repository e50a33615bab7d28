import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Eraser, ListFilter, Merge, UserRoundX } from "lucide-react";
import { useState } from "react";
import { ApiError } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { ActivityStrip } from "./activity-strip.tsx";
import { EraseDialog } from "./erase-dialog.tsx";
import { Erasure } from "./erasure.tsx";
import { Facts } from "./facts.tsx";
import { Journey } from "./journey.tsx";
import { MergeDialog } from "./merge-dialog.tsx";
import { Names } from "./names.tsx";
import { Notes } from "./notes.tsx";
import { Properties } from "./properties.tsx";
import { UserGroups } from "./user-groups.tsx";
import { UserIds } from "./user-ids.tsx";
import { saveProperties, userQuery } from "./users.ts";

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
              <Facts {...user} beside={!user.isKnown && "Anonymous"} />
              <UserIds project={project} user={user} />
              <Properties
                thing={user}
                mayChange={can("users:change")}
                request="PATCH /api/users/…"
                what="user"
                keys={[userQuery(project, user.userId).queryKey, ["users", project]]}
                save={(properties, { version }) => saveProperties(project, user.userId, properties, version)}
                gone={{
                  code: "user-unknown",
                  recreate: (properties) => saveProperties(project, user.userId, properties),
                }}
              />
              <UserGroups project={project} userId={user.userId} />
              <Notes project={project} userId={user.userId} />
              <Names project={project} names={user.names} filters={{ userId: user.userId }} />
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
              <ActivityStrip project={project} filter={{ userId: user.userId }} />
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

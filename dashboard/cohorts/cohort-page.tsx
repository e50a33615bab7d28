import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Download, ListFilter, Pencil, Trash2, UsersRound } from "lucide-react";
import { useState } from "react";
import type { Cohort } from "../../server/schemas/cohort.ts";
import { countOf } from "../components/counts.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ItemPage } from "../shell/item-page.tsx";
import { useColumns } from "../users/columns.ts";
import { UserTable } from "../users/user-table.tsx";
import { DeleteCohortDialog, EditCohortDialog } from "./cohort-dialogs.tsx";
import { cohortText } from "./cohort-text.ts";
import { cohortMembersQuery, cohortQuery, searchOf } from "./cohorts.ts";

/** One cohort: its conditions, and its people. */
export function CohortPage() {
  const { cohort: id = "" } = useParams({ strict: false });
  const project = useProjectSlug();
  const query = useQuery(cohortQuery(project, id));
  return (
    <ItemPage noun="cohort" list="/p/$project/cohorts" icon={<UsersRound aria-hidden />} query={query}>
      {(cohort) => (
        <>
          <div className="flex flex-col gap-4">
            <Facts cohort={cohort} />
            <Actions project={project} cohort={cohort} />
          </div>
          <Members project={project} cohort={cohort} />
        </>
      )}
    </ItemPage>
  );
}

function Facts({ cohort }: { cohort: Cohort }) {
  const { people, computedAt, failure } = cohort;
  return (
    <div className="flex flex-col gap-1 text-sm">
      <p className="hostile">{cohortText(cohort)}</p>
      <p className="text-muted text-xs">
        {computedAt === null ? (
          "Its people are being computed."
        ) : (
          <>
            {countOf(people ?? 0, "person", "people")}, computed <RelativeTime at={computedAt} form="long" />{" "}
            and again whenever something changes.
          </>
        )}{" "}
        Search for their events with <code className="hostile font-mono">{searchOf(cohort)}</code>.
      </p>
      {failure !== null && (
        <p role="alert" className="hostile text-danger text-xs">
          It couldn't be computed the last time: {failure}
        </p>
      )}
    </div>
  );
}

function Actions({ project, cohort }: { project: string; cohort: Cohort }) {
  const navigate = useNavigate();
  const canChange = useCan()("cohorts:change");
  const [opened, setOpened] = useState<"edit" | "remove" | null>(null);
  const close = () => setOpened(null);
  const file = (format: string) =>
    `/api/cohorts/${cohort.id}/export?${new URLSearchParams({ format, project })}`;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {canChange && (
        <Button onClick={() => setOpened("edit")}>
          <Pencil aria-hidden className="size-4" />
          Edit
        </Button>
      )}
      <Link to="/p/$project" params={{ project }} search={{ q: searchOf(cohort) }} className={buttonClass()}>
        <ListFilter aria-hidden className="size-4" />
        Their events
      </Link>
      <a href={file("csv")} download className={buttonClass()}>
        <Download aria-hidden className="size-4" />
        CSV
      </a>
      <a href={file("ndjson")} download className={buttonClass()}>
        <Download aria-hidden className="size-4" />
        NDJSON
      </a>
      {canChange && (
        <RowMenu
          name={cohort.name}
          actions={[{ label: "Delete…", icon: Trash2, danger: true, onSelect: () => setOpened("remove") }]}
        />
      )}
      {opened === "edit" && <EditCohortDialog cohort={cohort} close={close} />}
      {opened === "remove" && (
        <DeleteCohortDialog
          cohort={cohort}
          close={close}
          deleted={() => void navigate({ to: "/p/$project/cohorts", params: { project } })}
        />
      )}
    </div>
  );
}

function Members({ project, cohort }: { project: string; cohort: Cohort }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    cohortMembersQuery(project, cohort.id),
  );
  const users = data?.pages.flatMap((page) => page.users);
  const columns = useColumns(project, users ?? []);
  if (error && !users)
    return <ErrorState title="The people couldn't be listed" error={error} retry={() => void refetch()} />;
  if (!users) return <Skeleton className="h-32" />;
  if (users.length === 0)
    return (
      <p className="text-muted text-sm">
        {cohort.computedAt === null
          ? ""
          : "Nobody is in this cohort now. Who passes its conditions appears here."}
      </p>
    );
  return (
    <section aria-label="People">
      <UserTable project={project} users={users} columns={columns.shown} faded={false} />
      {hasNextPage && (
        <div className="flex justify-center p-6">
          <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </section>
  );
}

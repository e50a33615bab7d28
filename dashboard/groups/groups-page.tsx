import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Building2, Plus, Search } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { GroupInList } from "../../server/schemas/group.ts";
import { groupsTitle } from "../../server/schemas/group-texts.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { LineName, LineRow, LineTable } from "../components/ui/line-table.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { GroupLineLink, PeopleCount } from "./group-line.tsx";
import { groupsQuery, groupTypesQuery } from "./groups.ts";
import { NewGroupDialog } from "./new-group-dialog.tsx";

/** The type that the page shows where none was created yet. */
const firstType = "company";

/** The groups of a type, such as companies, found by their ID and properties. */
export function GroupsPage() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const { type = firstType } = useParams({ strict: false });
  const search: { q?: string } = useSearch({ strict: false });
  const [typed, setTyped] = useState(search.q ?? "");
  const [isCreating, setCreating] = useState(false);
  const canCreate = useCan()("users:identify");
  const sought = useDeferredValue(typed.trim());
  const types = useQuery(groupTypesQuery(project));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } =
    useInfiniteQuery(groupsQuery(project, type, sought));
  const groups = data?.pages.flatMap((page) => page.groups);
  const title = groupsTitle(type);

  // The URL keeps the typed text, for the way back from a group's page.
  useEffect(() => {
    if (sought !== (search.q ?? ""))
      void navigate({
        to: "/p/$project/groups/$type",
        params: { project, type },
        search: sought === "" ? {} : { q: sought },
        replace: true,
      });
  });

  const others = types.data?.filter((each) => each.type !== type) ?? [];
  return (
    <>
      <PageHeader title={title} />
      <div className="flex flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5">
        <label className="flex h-8 min-w-40 flex-1 items-center gap-2 rounded-md border border-line-strong bg-raised px-2.5 focus-within:outline-2 focus-within:outline-accent max-md:h-10 md:max-w-80">
          <Search aria-hidden className="size-4 shrink-0 text-faint" />
          <input
            type="search"
            aria-label={`Find in ${title}`}
            placeholder="ID, name, plan:team…"
            title={
              'Part of an ID or of any property. plan:team searches one property; plan:"team" matches its whole value'
            }
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            maxLength={limits.userSearchCharacters}
            dir="auto"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            className="min-w-0 flex-1 bg-transparent text-sm outline-none placeholder:text-faint placeholder-shown:text-ellipsis max-md:text-lg"
          />
        </label>
        {others.map((each) => (
          <Link
            key={each.type}
            to="/p/$project/groups/$type"
            params={{ project, type: each.type }}
            search={{}}
            className={buttonClass()}
          >
            <span className="hostile-line max-w-40">{groupsTitle(each.type)}</span>
          </Link>
        ))}
        <Link to="/p/$project/users" params={{ project }} search={{}} className={buttonClass()}>
          All users
        </Link>
        {canCreate && (
          <Button variant="solid" className="md:ml-auto" onClick={() => setCreating(true)}>
            <Plus aria-hidden className="size-4" />
            New group
          </Button>
        )}
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !groups ? (
          <ErrorState title={`${title} couldn't be loaded`} error={error} retry={() => void refetch()} />
        ) : !groups ? (
          <div className="flex flex-col gap-3 p-5">
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
          </div>
        ) : groups.length === 0 && sought !== "" ? (
          <EmptyState
            icon={<Building2 aria-hidden />}
            title="Nothing found"
            action={<Button onClick={() => setTyped("")}>Show all</Button>}
          >
            No ID or property has <bdi className="hostile">{sought}</bdi>. Use{" "}
            <code className="font-mono text-xs">plan:team</code> for one property.
          </EmptyState>
        ) : groups.length === 0 ? (
          <EmptyState icon={<Building2 aria-hidden />} title="None yet">
            Send them with <code className="font-mono text-xs">POST /api/groups</code> or{" "}
            <code className="font-mono text-xs">tidings.group()</code>: an ID, properties, and the users who
            are members. Then <code className="hostile font-mono text-xs">{type}:ID</code> finds what all of
            them did.
          </EmptyState>
        ) : (
          <>
            <GroupTable project={project} groups={groups} faded={isPlaceholderData} />
            {hasNextPage && (
              <div className="flex justify-center p-6">
                <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show more
                </Button>
              </div>
            )}
          </>
        )}
      </div>
      {isCreating && <NewGroupDialog project={project} type={type} close={() => setCreating(false)} />}
    </>
  );
}

type GroupTableProps = { project: string; groups: readonly GroupInList[]; faded: boolean };

function GroupTable({ project, groups, faded }: GroupTableProps) {
  return (
    <LineTable
      faded={faded}
      head={
        <>
          <th scope="col">Group</th>
          <th scope="col" className="@xl:w-20 text-right">
            People
          </th>
          <th scope="col" className="@xl:w-20 text-right">
            Events
          </th>
          <th scope="col" className="@xl:w-28 text-right">
            Last seen
          </th>
        </>
      }
    >
      {groups.map((group) => (
        <LineRow key={group.id}>
          <LineName>
            <GroupLineLink {...{ project, group }} />
          </LineName>
          <td className="@xl:text-right text-muted @max-xl:col-start-1 @max-xl:text-xs">
            <PeopleCount people={group.people} />
          </td>
          <td className="@max-xl:col-start-2 @max-xl:row-start-2 text-right text-muted @max-xl:text-xs">
            {formatNumber(group.events)}
            <span className="@xl:hidden"> {group.events === 1 ? "event" : "events"}</span>
          </td>
          <td className="@max-xl:col-start-2 @max-xl:row-start-1 text-right text-muted">
            {group.lastSeenAt === null ? (
              "–"
            ) : (
              <RelativeTime at={group.lastSeenAt} className="relative whitespace-nowrap" />
            )}
          </td>
        </LineRow>
      ))}
    </LineTable>
  );
}

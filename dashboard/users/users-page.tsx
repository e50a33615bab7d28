import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Building2, Columns3, Search, UserRound, UserRoundSearch, UsersRound } from "lucide-react";
import { useDeferredValue, useEffect, useId, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { groupsTitle } from "../../server/schemas/group-texts.ts";
import { SaveAsCohort } from "../cohorts/save-as-cohort.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Menu, MenuCheckbox, MenuLabel } from "../components/ui/menu.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { shownTypes } from "../groups/group-text.ts";
import { groupTypesQuery } from "../groups/groups.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { useColumns } from "./columns.ts";
import { UserTable } from "./user-table.tsx";
import { sortIn, sorts, usersQuery } from "./users.ts";

/** The users of the project's application, found by their ID and properties. */
export function UsersPage() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const search: { sort?: string; q?: string } = useSearch({ strict: false });
  const sort = sortIn(search.sort);
  const [typed, setTyped] = useState(search.q ?? "");
  const sought = useDeferredValue(typed.trim());
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } =
    useInfiniteQuery(usersQuery(project, sort, sought));
  const users = data?.pages.flatMap((page) => page.users);
  const columns = useColumns(project, users ?? []);
  const sortId = useId();
  const { data: groupTypes } = useQuery(groupTypesQuery(project));

  const show = (changed: { sort?: string; q?: string }) =>
    void navigate({
      to: "/p/$project/users",
      params: { project },
      search: { ...search, ...changed },
      replace: true,
    });
  // The URL keeps the typed text, for the way back from a user's page.
  useEffect(() => {
    if (sought !== (search.q ?? "")) show({ q: sought });
  });

  return (
    <>
      <PageHeader title="Users" />
      <div className="flex flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5">
        <label className="flex h-8 min-w-40 flex-1 items-center gap-2 rounded-md border border-line-strong bg-raised px-2.5 focus-within:outline-2 focus-within:outline-accent max-md:h-10 md:max-w-80">
          <Search aria-hidden className="size-4 shrink-0 text-faint" />
          <input
            type="search"
            aria-label="Find users"
            placeholder="ID, email, plan:pro…"
            title={
              'Part of an ID or of any property. plan:pro searches one property; plan:"pro" matches its whole value'
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
        {sought !== "" && <SaveAsCohort conditions={() => [{ type: "search", q: sought }]} />}
        <Link to="/p/$project/cohorts" params={{ project }} className={buttonClass()}>
          <UsersRound aria-hidden className="size-4" />
          Cohorts
        </Link>
        {shownTypes(groupTypes).map(({ type }) => (
          <Link
            key={type}
            to="/p/$project/groups/$type"
            params={{ project, type }}
            search={{}}
            className={buttonClass()}
          >
            <Building2 aria-hidden className="size-4" />
            <span className="hostile-line max-w-40">{groupsTitle(type)}</span>
          </Link>
        ))}
        <div className="flex items-center gap-2 max-md:w-full md:ml-auto">
          <label htmlFor={sortId} className="text-muted text-sm max-md:sr-only">
            Sort by
          </label>
          <select
            id={sortId}
            value={sort}
            onChange={(event) => show({ sort: event.target.value })}
            className={buttonClass({}, "pr-7 font-normal max-md:text-lg")}
          >
            {Object.entries(sorts).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {columns.known.length > 0 && (
            <Menu
              align="end"
              trigger={
                <Button>
                  <Columns3 aria-hidden className="size-4" />
                  Columns
                </Button>
              }
            >
              <MenuLabel>Properties</MenuLabel>
              {columns.known.map((name) => (
                <MenuCheckbox
                  key={name}
                  checked={columns.shown.includes(name)}
                  onCheckedChange={() => columns.toggle(name)}
                >
                  <span className="hostile-line">{name}</span>
                </MenuCheckbox>
              ))}
            </Menu>
          )}
        </div>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !users ? (
          <ErrorState title="Users couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !users ? (
          <div className="flex flex-col gap-3 p-5">
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
          </div>
        ) : users.length === 0 && sought !== "" ? (
          <EmptyState
            icon={<UserRoundSearch aria-hidden />}
            title="No users found"
            action={<Button onClick={() => setTyped("")}>Show all users</Button>}
          >
            No user's ID or property has <bdi className="hostile">{sought}</bdi>. Use{" "}
            <code className="font-mono text-xs">plan:pro</code> for one property, and{" "}
            <code className="font-mono text-xs">plan:"pro"</code> for all of its value.
          </EmptyState>
        ) : users.length === 0 ? (
          <EmptyState icon={<UserRound aria-hidden />} title="No users yet">
            Send events with a <code className="font-mono text-xs">userId</code>. Each user appears here with
            their events.
          </EmptyState>
        ) : (
          <>
            <UserTable project={project} users={users} columns={columns.shown} faded={isPlaceholderData} />
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
    </>
  );
}

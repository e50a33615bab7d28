import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Columns3, Search, UserRound, UserRoundSearch } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Menu, MenuCheckbox, MenuLabel } from "../components/ui/menu.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { useColumns } from "./columns.ts";
import { UserTable } from "./user-table.tsx";
import { sortIn, sorts, usersQuery } from "./users.ts";

/** The users of the project's application, found by the start of their id. */
export function UsersPage() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const search: { sort?: string; prefix?: string } = useSearch({ strict: false });
  const sort = sortIn(search.sort);
  const [prefix, setPrefix] = useState(search.prefix ?? "");
  const sought = useDeferredValue(prefix);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } =
    useInfiniteQuery(usersQuery(project, sort, sought));
  const users = data?.pages.flatMap((page) => page.users);
  const columns = useColumns(project, users ?? []);

  const show = (changed: { sort?: string; prefix?: string }) =>
    void navigate({
      to: "/p/$project/users",
      params: { project },
      search: { ...search, ...changed },
      replace: true,
    });
  // The address keeps what was typed, for the way back from a user's page.
  useEffect(() => {
    if (sought !== (search.prefix ?? "")) show({ prefix: sought });
  });

  return (
    <>
      <PageHeader title="Users" />
      <div className="flex flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5">
        <label className="flex h-8 min-w-40 flex-1 items-center gap-2 rounded-md border border-line-strong bg-raised px-2.5 focus-within:outline-2 focus-within:outline-accent max-md:h-10 md:max-w-80">
          <Search aria-hidden className="size-4 shrink-0 text-faint" />
          <input
            type="search"
            aria-label="Find users whose ID starts with"
            placeholder="ID starts with…"
            value={prefix}
            onChange={(event) => setPrefix(event.target.value)}
            maxLength={200}
            dir="auto"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            className="min-w-0 flex-1 bg-transparent text-sm outline-none placeholder:text-faint max-md:text-lg"
          />
        </label>
        <div className="flex gap-2 md:ml-auto">
          <select
            aria-label="Sort by"
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
            action={<Button onClick={() => setPrefix("")}>Show all users</Button>}
          >
            No user's ID starts with <bdi className="hostile">{sought}</bdi>. Upper and lower case differ.
          </EmptyState>
        ) : users.length === 0 ? (
          <EmptyState icon={<UserRound aria-hidden />} title="No users yet">
            Send events with a <code className="font-mono text-xs">userId</code>, and each user appears here
            with what they did.
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

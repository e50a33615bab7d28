import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { ArrowLeft, Building2, ListFilter, Trash2, UserRoundPlus, X } from "lucide-react";
import { useState } from "react";
import type { Group } from "../../server/schemas/group.ts";
import { groupsTitle } from "../../server/schemas/group-texts.ts";
import type { UserInList } from "../../server/schemas/user.ts";
import { ApiError } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { ActivityStrip } from "../users/activity-strip.tsx";
import { Facts } from "../users/facts.tsx";
import { JourneyEvent } from "../users/journey.tsx";
import { Names } from "../users/names.tsx";
import { Properties } from "../users/properties.tsx";
import { UserLink } from "../users/user-link.tsx";
import { AddMemberDialog } from "./add-member-dialog.tsx";
import { groupName } from "./group-text.ts";
import {
  deleteGroup,
  groupEventsQuery,
  groupMembersQuery,
  groupQuery,
  groupsKey,
  removeMember,
  saveGroup,
  saveGroupProperties,
  searchOf,
} from "./groups.ts";

/** One group: what it is, who is in it, how active, and what happened last. */
export function GroupPage() {
  const project = useProjectSlug();
  const { type = "", group: id = "" } = useParams({ strict: false });
  const { data: group, error, refetch } = useQuery(groupQuery(project, { type, id }));
  const isUnknown = error instanceof ApiError && error.code === "group-unknown";
  const list = { to: "/p/$project/groups/$type", params: { project, type }, search: {} } as const;
  return (
    <>
      <PageHeader
        title={group ? groupName(group) : id}
        icon={
          <Link
            {...list}
            aria-label={`All ${groupsTitle(type)}`}
            className="-ml-1.5 flex size-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
          >
            <ArrowLeft aria-hidden className="size-4" />
          </Link>
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {isUnknown ? (
          <EmptyState
            icon={<Building2 aria-hidden />}
            title="There is no such group"
            action={
              <Link {...list} className={buttonClass()}>
                {groupsTitle(type)}
              </Link>
            }
          >
            It was deleted, or your application has not saved it.
          </EmptyState>
        ) : error && !group ? (
          <ErrorState title="The group couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !group ? (
          <div className="flex flex-col gap-4 p-5">
            <Skeleton className="h-20" />
            <Skeleton className="h-64" />
          </div>
        ) : (
          <Whole project={project} group={group} />
        )}
      </div>
    </>
  );
}

function Whole({ project, group }: { project: string; group: Group }) {
  const can = useCan();
  const q = searchOf(group);
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-6 px-4 py-5 md:px-8 md:py-6 lg:grid lg:grid-cols-[minmax(0,1fr)_300px] lg:items-start lg:gap-10">
      <aside aria-label="About the group" className="flex flex-col gap-6 lg:order-2">
        <Facts {...group} beside={countOf(group.people, "person", "people")} />
        <Properties
          thing={group}
          mayChange={can("groups:change")}
          request="POST /api/groups"
          what="group"
          keys={[groupsKey(project)]}
          save={(properties, base) => saveGroupProperties(project, base, properties)}
          gone={{
            code: "group-unknown",
            recreate: (properties) => saveGroup(project, group, { properties }),
          }}
        />
        <Names project={project} names={group.names} filters={{ q }} />
        <Actions project={project} group={group} />
      </aside>
      <div className="flex min-w-0 flex-col gap-6">
        <ActivityStrip project={project} filter={{ q }} />
        <People project={project} group={group} />
        <Recent project={project} group={group} />
      </div>
    </div>
  );
}

function Actions({ project, group }: { project: string; group: Group }) {
  const navigate = useNavigate();
  const mayChange = useCan()("groups:change");
  const [isDeleting, setDeleting] = useState(false);
  const { type } = group;
  const remove = useMutation({
    mutationFn: () => deleteGroup(project, group),
    async onSuccess() {
      await navigate({ to: "/p/$project/groups/$type", params: { project, type }, search: {} });
      await refresh(groupsKey(project));
    },
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Link to="/p/$project" params={{ project }} search={{ q: searchOf(group) }} className={buttonClass()}>
        <ListFilter aria-hidden className="size-4" />
        Open in feed
      </Link>
      {mayChange && (
        <Button variant="danger" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden className="size-4" />
          Delete
        </Button>
      )}
      {isDeleting && (
        <ConfirmDialog
          title="Delete this group?"
          action="Delete"
          mutation={remove}
          close={() => setDeleting(false)}
        >
          <b className="font-semibold text-ink">{groupName(group)}</b> loses its properties and its people.
          All events and users stay.
        </ConfirmDialog>
      )}
    </div>
  );
}

function People({ project, group }: { project: string; group: Group }) {
  const mayChange = useCan()("groups:change");
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<UserInList | null>(null);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    groupMembersQuery(project, group),
  );
  const remove = useMutation({
    mutationFn: () => removeMember(project, group, removing!.userId),
    async onSuccess() {
      setRemoving(null);
      await refresh(groupsKey(project));
    },
  });
  const users = data?.pages.flatMap((page) => page.users);
  return (
    <section aria-label="People">
      <div className="mb-1 flex h-8 items-center justify-between max-md:h-10">
        <h2 className="font-semibold text-sm">People</h2>
        {mayChange && (
          <Button variant="ghost" onClick={() => setAdding(true)}>
            <UserRoundPlus aria-hidden className="size-4" />
            Add
          </Button>
        )}
      </div>
      {error && !users ? (
        <ErrorState title="The people couldn't be listed" error={error} retry={() => void refetch()} />
      ) : !users ? (
        <Skeleton className="h-24" />
      ) : users.length === 0 ? (
        <p className="text-muted text-sm">
          Nobody yet. Only events that name the group by a tag belong to it.
        </p>
      ) : (
        <ul className="text-sm">
          {users.map((user) => (
            <li
              key={user.userId}
              className="flex min-h-10 items-center gap-3 border-line border-b py-1 last:border-b-0"
            >
              <UserLink
                project={project}
                userId={user.userId}
                className="hostile-line min-w-0 flex-1 font-medium hover:underline"
              >
                {user.userId}
              </UserLink>
              <span className="shrink-0 text-muted text-xs">{countOf(user.events, "event")}</span>
              <span className="w-20 shrink-0 text-right text-faint text-xs max-md:hidden">
                {user.lastSeenAt !== null && <RelativeTime at={user.lastSeenAt} />}
              </span>
              {mayChange && (
                <RowMenu
                  name={user.userId}
                  actions={[{ label: "Remove…", icon: X, danger: true, onSelect: () => setRemoving(user) }]}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button className="mt-2" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
      {isAdding && <AddMemberDialog project={project} group={group} close={() => setAdding(false)} />}
      {removing && (
        <ConfirmDialog
          title="Remove this person?"
          action="Remove"
          mutation={remove}
          close={() => setRemoving(null)}
        >
          The events of <b className="font-semibold text-ink">{removing.userId}</b> that don't name the group
          no longer belong to it, also past ones.
        </ConfirmDialog>
      )}
    </section>
  );
}

function Recent({ project, group }: { project: string; group: Group }) {
  const { data: events, error, refetch } = useQuery(groupEventsQuery(project, group));
  if (error && !events)
    return <ErrorState title="The events couldn't be loaded" error={error} retry={() => void refetch()} />;
  if (!events) return <Skeleton className="h-64" />;
  return (
    <section aria-label="Last events">
      <h2 className="mb-1 font-semibold text-sm">Last events</h2>
      {events.length === 0 ? (
        <p className="text-muted text-sm">
          No events yet. Those of its people appear here, and those with the tag{" "}
          <code className="hostile font-mono text-xs">
            {group.type}={group.id}
          </code>
          .
        </p>
      ) : (
        <ol className="ml-2.5 border-line border-l">
          {events.map((event) => (
            <JourneyEvent key={event.id} event={event} project={project} firstTags={[]} isDated />
          ))}
        </ol>
      )}
    </section>
  );
}

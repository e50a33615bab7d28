import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CalendarClock, FileText, Search, Tag, UserRound } from "lucide-react";
import { useDeferredValue } from "react";
import { isEventId } from "../../server/event/id.ts";
import { parseSearch, printText, SearchError } from "../../server/event/search.ts";
import type { Completion } from "../../server/schemas/completion.ts";
import { eventQuery } from "../event/event-query.ts";
import { filtersOfView } from "../feed/filters.ts";
import { completionQuery } from "../feed/suggestions.tsx";
import { entered } from "../feed/typed.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import type { Item } from "./items.ts";

type Suggestion = Completion["suggestions"][number];

/** The project's events and users that match the typed text, and the item that searches for it. */
export function useFoundItems(typed: string): { first: Item[]; last: Item[] } {
  const project = useProjectSlug();
  const sought = useDeferredValue(typed.trim());
  const q = printText(sought);
  const isSearched = sought !== "" && project !== "";
  const { data } = useQuery({
    ...completionQuery(project, q, q.length),
    enabled: isSearched,
    placeholderData: keepPreviousData,
  });
  const id = sought.toLowerCase();
  const isId = isEventId(id);
  const { data: event } = useQuery({ ...eventQuery(project, id), enabled: isSearched && isId, retry: false });
  const searchItem = useSearchItem();
  const userItem = useUserItem();
  const eventItem = useEventItem();
  if (!isSearched) return { first: [], last: [] };

  const found = data?.suggestions ?? [];
  const users = found.filter(({ kind }) => kind === "user").map((each) => userItem(each));
  // Of a pasted ID, nothing else is meant.
  const isMeant = (item: Item) => item.id === `user ${sought}`;
  const opened = isId
    ? [eventItem(id, event?.name ?? "Open the event with this ID", event && `Event in ${event.channelId}`)]
    : [];
  const names = found.filter(({ kind }) => kind === "name");
  const tags = found.filter(({ kind }) => kind === "tag");
  const others = users.filter((item) => !isMeant(item));
  // A text that is only in the names of users is one of these.
  const areMeant = names.length === 0 && tags.length === 0;
  return {
    first: [...opened, ...users.filter(isMeant)],
    last: [
      ...(areMeant ? others : []),
      searchItem(sought),
      ...names.map(({ text, insert, events }) => ({
        ...searchItem(insert, text, <FileText aria-hidden />),
        events,
      })),
      ...tags.map(({ insert, events }) => ({ ...searchItem(insert, insert, <Tag aria-hidden />), events })),
      ...(areMeant ? [] : others),
    ],
  };
}

/** Makes the item that searches events, as the search field would. */
export function useSearchItem() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  return (typed: string, label?: string, icon = <Search aria-hidden />): Item => ({
    id: `search ${typed}`,
    group: "Events",
    label: label ?? `Search events for “${typed}”`,
    icon,
    run: () => navigate({ to: "/p/$project", params: { project }, search: filtersOfView(searchOf(typed)) }),
  });
}

/** Makes the item that opens a user's page. */
export function useUserItem() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  return ({ text, detail, events }: Pick<Suggestion, "text" | "detail" | "events">): Item => {
    const userId = detail ?? text;
    return {
      id: `user ${userId}`,
      group: "Users",
      label: text,
      detail,
      events,
      icon: <UserRound aria-hidden />,
      // URLs can't have the IDs "." and "..".
      run: () =>
        /^\.\.?$/.test(userId)
          ? navigate({ to: "/p/$project", params: { project }, search: { userId } })
          : navigate({ to: "/p/$project/users/$userId", params: { project, userId } }),
    };
  };
}

/** Makes the item that opens an event. */
export function useEventItem() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  return (id: string, label: string, detail: string | undefined): Item => ({
    id: `event ${id}`,
    group: "Events",
    label,
    detail,
    icon: <CalendarClock aria-hidden />,
    run: () => navigate({ to: "/p/$project/events/$id", params: { project, id }, search: {} }),
  });
}

/** The typed text as a search. If it isn't one, the search looks for the text itself. */
function searchOf(typed: string): string {
  const search = entered(typed);
  try {
    parseSearch(search);
    return search;
  } catch (error) {
    if (error instanceof SearchError) return printText(typed);
    throw error;
  }
}

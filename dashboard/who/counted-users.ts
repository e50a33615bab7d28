import { infiniteQueryOptions } from "@tanstack/react-query";
import type { CountedUserList } from "../../server/schemas/counted-users.ts";
import { api } from "../api.ts";
import { addressOf, type Question, requestOf } from "./question.ts";

const pageUsers = 100;

/** The users of a question, the newest event first. All pages are of the first one's time. */
export function countedUsersQuery(project: string, question: Question) {
  return infiniteQueryOptions({
    queryKey: ["counted-users", project, addressOf(question)],
    queryFn: ({ pageParam, signal }) => {
      const { path, query } = requestOf(question);
      const parameters = new URLSearchParams([...query, ["project", project], ["limit", String(pageUsers)]]);
      if (pageParam) {
        parameters.set("from", pageParam.from);
        parameters.set("to", pageParam.to);
        parameters.set("cursor", pageParam.nextCursor!);
      }
      return api<CountedUserList>(`${path}?${parameters}`, { signal });
    },
    initialPageParam: null as Pick<CountedUserList, "from" | "to" | "nextCursor"> | null,
    getNextPageParam: ({ from, to, nextCursor }) => (nextCursor === null ? null : { from, to, nextCursor }),
    retry: false,
  });
}

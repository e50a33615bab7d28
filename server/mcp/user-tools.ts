import { z } from "@hono/zod-openapi";
import { MergeResponse, SplitResponse } from "../schemas/person.ts";
import { segmentOf, type Tool } from "./tool.ts";

/** The tools that change who is who. */
export const userTools: readonly Tool[] = [
  {
    name: "merge_users",
    title: "Merge two users",
    description:
      "Makes another user a part of this one, with all their IDs. Their events count for one person, past ones too. split_user undoes it.",
    permission: "users:change",
    isReadOnly: false,
    input: z.object({
      userId: z.string().describe("An ID of the user who stays"),
      otherId: z.string().describe("An ID of the other user"),
      force: z
        .boolean()
        .optional()
        .describe("Only if a person confirmed that two known users are the same: merges them"),
    }),
    output: MergeResponse,
    run: (api, { userId, otherId, force }) =>
      api(`/api/users/${segmentOf(userId)}/merge`, {
        userId: otherId,
        ...(force === true && { force }),
      }),
  },
  {
    name: "split_user",
    title: "Split an ID off a user",
    description:
      "Undoes a merge: the ID becomes a user of its own again. user_journey lists the IDs of a user.",
    permission: "users:change",
    isReadOnly: false,
    input: z.object({ userId: z.string().describe("The ID to split off") }),
    output: SplitResponse,
    run: (api, { userId }) => api(`/api/users/${segmentOf(userId)}/split`, {}),
  },
];

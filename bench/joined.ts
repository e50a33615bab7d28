import { userCount } from "./events.ts";
import type { Month } from "./month.ts";

/** Of the users, so many in a hundred are joined to another one. */
const joinedPercent = 30;
const batchMessages = 1_000;

const joinedBefore = new WeakMap<Month, Promise<JoinedUsers>>();

/** How many IDs are joined, and how long that took. */
export type JoinedUsers = { ids: number; seconds: number };

/** Each ID that is joined, and the one that it is joined to. */
export function joinedIds(ids: number): [id: string, person: string][] {
  return Array.from({ length: ids }, (_, number) => [`user_${userCount - 1 - number}`, `user_${number}`]);
}

/** Joins three in ten users of a month to another one, as clients of another service would. Once for each month. */
export function joinUsers(month: Month, { quick }: { quick: boolean }): Promise<JoinedUsers> {
  const known = joinedBefore.get(month);
  if (known) return known;
  const ids = Math.floor((Math.min(userCount, quick ? 100 : userCount) * joinedPercent) / 100);
  const joining = join(month, ids);
  joinedBefore.set(month, joining);
  return joining;
}

async function join(month: Month, ids: number): Promise<JoinedUsers> {
  const startMs = performance.now();
  await postMessages(
    month,
    joinedIds(ids).map(([alias, userId]) => ({
      event: "$create_alias",
      distinct_id: userId,
      properties: { alias },
    })),
  );
  const seconds = (performance.now() - startMs) / 1_000;
  const { ports, apiKey } = month.server;
  const response = await fetch(`http://127.0.0.1:${ports[0]}/api/users/user_${userCount - 1}`, {
    headers: { "x-api-key": apiKey },
  });
  const { user } = (await response.json()) as { user: { userId: string } };
  if (user.userId !== "user_0") throw new Error(`user_${userCount - 1} is joined to ${user.userId}.`);
  return { ids, seconds };
}

/** Posts messages to the endpoint for PostHog's clients. */
export async function postMessages(
  { server: { ports, apiKey } }: Month,
  messages: readonly object[],
): Promise<void> {
  for (let start = 0; start < messages.length; start += batchMessages) {
    const response = await fetch(`http://127.0.0.1:${ports[0]}/batch/`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
      body: JSON.stringify({ batch: messages.slice(start, start + batchMessages) }),
    });
    if (response.status !== 200)
      throw new Error(`POST /batch/ answered ${response.status}: ${await response.text()}`);
  }
}

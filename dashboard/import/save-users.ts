import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { User } from "../../server/schemas/user.ts";
import { applyChanges, type UserChange } from "../../server/users/user-change.ts";
import { ApiError, api } from "../api.ts";
import { saveProperties } from "../users/users.ts";

const requestsAtOnce = 8;

/** Merges changes into the properties that users have. */
export async function saveUsers(project: string, changes: readonly UserChange[]): Promise<void> {
  const users = [...Map.groupBy(changes, ({ userId }) => userId)];
  const next = async () => {
    for (let user = users.shift(); user; user = users.shift()) {
      const [userId, ofUser] = user;
      await saveProperties(project, userId, applyChanges(await readProperties(project, userId), ofUser));
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, next));
}

async function readProperties(project: string, userId: string): Promise<User["properties"]> {
  try {
    const path = `/api/users/${pathSegment(userId)}`;
    return (await api<{ user: User }>(path, { query: { project } })).user.properties;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return {};
    throw error;
  }
}

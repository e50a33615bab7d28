import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { User } from "../../server/schemas/user.ts";
import type { RecordGroup, RecordJoining } from "../../server/transfer/user-changes.ts";
import { applyChanges, type UserChange } from "../../server/users/user-change.ts";
import { ApiError, api } from "../api.ts";
import { saveProperties } from "../users/users.ts";
import type { RejectedRecord } from "./imports.ts";

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

/** Joins IDs that are one person's. Returns those that the server refused, by their records. */
export async function joinIds(
  project: string,
  joinings: readonly RecordJoining[],
): Promise<RejectedRecord[]> {
  const refused: RejectedRecord[] = [];
  const rest = [...joinings];
  const next = async () => {
    for (let joining = rest.shift(); joining; joining = rest.shift()) {
      const { id, userId, by, record } = joining;
      const [path, body] =
        by === "alias"
          ? (["/api/alias", { userId, previousId: id }] as const)
          : (["/api/identify", { userId, anonymousId: id }] as const);
      try {
        await api(path, { method: "POST", query: { project }, body });
      } catch (error) {
        if (!(error instanceof ApiError) || ![409, 422].includes(error.status)) throw error;
        // An event with both IDs doesn't ask for it.
        if (by !== "event") refused.push({ record, detail: error.message });
      }
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, next));
  return refused;
}

/** Saves groups, with their members. Returns those that the server refused, by their records. */
export async function saveGroups(project: string, groups: readonly RecordGroup[]): Promise<RejectedRecord[]> {
  const refused: RejectedRecord[] = [];
  const rest = [...groups];
  const next = async () => {
    for (let group = rest.shift(); group; group = rest.shift()) {
      const { type, id, set, userId, record } = group;
      const body = { type, id, ...(set && { properties: set }), ...(userId && { userId }) };
      try {
        await api("/api/groups", { method: "POST", query: { project }, body });
      } catch (error) {
        if (!(error instanceof ApiError) || ![409, 422].includes(error.status)) throw error;
        refused.push({ record, detail: error.message });
      }
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, next));
  return refused;
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

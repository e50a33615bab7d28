import type { Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import { faultInGroupId, faultInGroupType, type GroupChange } from "../schemas/group-rule.ts";
import { faultInUserId, type UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Store } from "../storage/store.ts";
import { applyChanges } from "../users/user-change.ts";

type Control = Transaction<ControlTables>;

/** A group as it is in a step, with the changes that were made to it so far. */
type OpenGroup = {
  isNew: boolean;
  isChanged: boolean;
  properties: string;
  memberCount: number;
  added: Set<string>;
};

/** Changes that are made in one transaction, which other events wait for. */
const changesTogether = limits.mergedUsers;

/**
 * Creates groups, merges their properties and adds members: all that calls of an application do. Returns for each change
 * null, or the problem for which it was refused: `body-invalid`, `limit-reached`, or `group-unknown` without `mayCreate`.
 */
export async function saveGroups(
  { together }: Pick<Store, "together">,
  projectId: number,
  changes: readonly GroupChange[],
  { mayCreate }: { mayCreate: boolean },
): Promise<(ProblemError | null)[]> {
  const results = changes.map(faultOf);
  const valid = [...changes.keys()].filter((index) => results[index] === null);
  for (let start = 0; start < valid.length; start += changesTogether) {
    const indexes = valid.slice(start, start + changesTogether);
    await together("control", async (transaction) => {
      const step = await openStep(
        transaction,
        projectId,
        indexes.map((index) => changes[index]!),
        mayCreate,
      );
      for (const index of indexes) results[index] = apply(step, changes[index]!, mayCreate);
      await save(transaction, projectId, step);
    });
  }
  return results;
}

type Step = {
  groups: Map<string, { type: string; id: string; group: OpenGroup | null }>;
  /** How many groups each type has. */
  counts: Map<string, number>;
  isMember: Set<string>;
  groupsOfUser: Map<string, number>;
};

function keyOf(...parts: string[]): string {
  return JSON.stringify(parts);
}

async function openStep(
  transaction: Control,
  projectId: number,
  changes: readonly GroupChange[],
  mayCreate: boolean,
): Promise<Step> {
  const types = [...new Set(changes.map(({ type }) => type))].toSorted();
  const counts = await lockTypes(transaction, projectId, types, mayCreate);
  const ids = [...new Set(changes.map(({ id }) => id))];
  const userIds = [...new Set(changes.flatMap(({ userId }) => userId ?? []))];
  const [rows, memberships, counted] = await Promise.all([
    transaction
      .selectFrom("userGroups")
      .select(["type", "groupId", "properties", "memberCount"])
      .where("projectId", "=", projectId)
      .where("type", "in", types)
      .where("groupId", "in", ids)
      .execute(),
    userIds.length === 0
      ? []
      : transaction
          .selectFrom("userGroupMembers")
          .select(["type", "groupId", "userId"])
          .where("projectId", "=", projectId)
          .where("userId", "in", userIds)
          .where("type", "in", types)
          .where("groupId", "in", ids)
          .execute(),
    userIds.length === 0
      ? []
      : transaction
          .selectFrom("userGroupMembers")
          .select((eb) => ["userId", eb.fn.countAll<number>().as("groups")])
          .where("projectId", "=", projectId)
          .where("userId", "in", userIds)
          .groupBy("userId")
          .execute(),
  ]);
  const known = new Map(
    rows.map(({ type, groupId, properties, memberCount }) => [
      keyOf(type, groupId),
      {
        isNew: false,
        isChanged: false,
        properties,
        memberCount: Number(memberCount),
        added: new Set<string>(),
      },
    ]),
  );
  return {
    groups: new Map(
      changes.map(({ type, id }) => [
        keyOf(type, id),
        { type, id, group: known.get(keyOf(type, id)) ?? null },
      ]),
    ),
    counts,
    isMember: new Set(memberships.map(({ type, groupId, userId }) => keyOf(type, groupId, userId))),
    groupsOfUser: new Map(counted.map(({ userId, groups }) => [userId, Number(groups)])),
  };
}

/**
 * Locks types of groups until the transaction ends, and returns how many groups the project's types have. Those that it
 * doesn't have are not locked: a new one is created by one transaction at a time.
 */
async function lockTypes(
  transaction: Control,
  projectId: number,
  types: readonly string[],
  mayCreate: boolean,
): Promise<Map<string, number>> {
  const read = async () => {
    const rows = await transaction
      .selectFrom("userGroupTypes")
      .select(["type", "groupCount"])
      .where("projectId", "=", projectId)
      .execute();
    return new Map(rows.map(({ type, groupCount }) => [type, Number(groupCount)]));
  };
  let known = await read();
  if (mayCreate && types.some((type) => !known.has(type))) {
    await withLock(transaction, "group types");
    known = await read();
  }
  for (const type of types)
    if (known.has(type))
      await transaction
        .updateTable("userGroupTypes")
        .set((eb) => ({ groupCount: eb.ref("groupCount") }))
        .where("projectId", "=", projectId)
        .where("type", "=", type)
        .execute();
  return read();
}

/** Applies a change to the groups of a step. */
function apply(step: Step, { type, id, set, userId }: GroupChange, mayCreate: boolean): ProblemError | null {
  const place = step.groups.get(keyOf(type, id))!;
  if (place.group === null) {
    if (!mayCreate) return notCreated();
    const refusal = refusalOfNew(step.counts, type);
    if (refusal) return refusal;
    step.counts.set(type, (step.counts.get(type) ?? 0) + 1);
    place.group = { isNew: true, isChanged: true, properties: "{}", memberCount: 0, added: new Set() };
  }
  const { group } = place;
  if (set !== undefined) {
    const merged = applyChanges(JSON.parse(group.properties) as UserProperties, [{ userId: "", set }]);
    const isLeftOut = ([name, value]: [string, unknown]) => value !== null && !Object.hasOwn(merged, name);
    if (Object.entries(set).some(isLeftOut)) return tooManyProperties();
    const properties = JSON.stringify(merged);
    if (properties !== group.properties) group.isChanged = true;
    group.properties = properties;
  }
  if (userId === undefined || step.isMember.has(keyOf(type, id, userId))) return null;
  if (group.memberCount >= limits.groupMembers)
    return reached(`A group can have at most ${limits.groupMembers.toLocaleString("en")} IDs of members.`);
  const groups = step.groupsOfUser.get(userId) ?? 0;
  if (groups >= limits.groupsOfUser)
    return reached(
      `An ID can be a member of at most ${limits.groupsOfUser} groups. Remove it from another one.`,
    );
  step.groupsOfUser.set(userId, groups + 1);
  step.isMember.add(keyOf(type, id, userId));
  group.memberCount++;
  group.added.add(userId);
  group.isChanged = true;
  return null;
}

async function save(transaction: Control, projectId: number, { groups }: Step): Promise<void> {
  const nowMs = Date.now();
  const changed = [...groups.values()].filter(({ group }) => group?.isChanged);
  const created = Map.groupBy(
    changed.filter(({ group }) => group!.isNew),
    ({ type }) => type,
  );
  for (const [type, { length }] of created)
    await transaction
      .insertInto("userGroupTypes")
      .values({ projectId, type, groupCount: length, createdAt: nowMs })
      .onConflict((conflict) =>
        conflict
          .columns(["projectId", "type"])
          .doUpdateSet((eb) => ({ groupCount: eb("userGroupTypes.groupCount", "+", length) })),
      )
      .execute();
  for (const { type, id, group } of changed) {
    const { isNew, properties, memberCount, added } = group!;
    const values = {
      properties,
      memberCount,
      updatedAt: nowMs,
      ...((isNew || added.size > 0) && { revision: crypto.randomUUID() }),
    };
    if (isNew)
      await transaction
        .insertInto("userGroups")
        .values({ projectId, type, groupId: id, createdAt: nowMs, revision: "", ...values })
        .execute();
    else
      await transaction
        .updateTable("userGroups")
        .set(values)
        .where("projectId", "=", projectId)
        .where("type", "=", type)
        .where("groupId", "=", id)
        .execute();
    for (const userId of added)
      await transaction
        .insertInto("userGroupMembers")
        .values({ projectId, type, groupId: id, userId, addedAt: nowMs })
        .execute();
  }
}

function faultOf({ type, id, userId }: GroupChange): ProblemError | null {
  const faults = [
    ["type", faultInGroupType(type)],
    ["ID", faultInGroupId(id)],
    ["user ID", userId === undefined ? null : faultInUserId(userId)],
  ] as const;
  const found = faults.find(([, fault]) => fault !== null);
  return found ? problem("body-invalid", { detail: `The group's ${found[0]} ${found[1]}.` }) : null;
}

function refusalOfNew(counts: ReadonlyMap<string, number>, type: string): ProblemError | null {
  const groups = counts.get(type);
  if (groups === undefined && counts.size >= limits.groupTypes)
    return reached(
      `A project can have at most ${limits.groupTypes} types of groups. Use one that it has, or delete all groups of one.`,
    );
  if (groups !== undefined && groups >= limits.groups)
    return reached(`A project can have at most ${limits.groups.toLocaleString("en")} groups of a type.`);
  return null;
}

function reached(detail: string): ProblemError {
  return problem("limit-reached", { detail });
}

export function tooManyProperties(): ProblemError {
  const detail = `A group can have at most ${limits.userProperties} properties. Remove some by setting them to null.`;
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}

function notCreated(): ProblemError {
  return problem("group-unknown", {
    detail:
      "A publishable key adds users only to groups that exist, because whoever reads the page could create any. Create the group from your server with a secret key.",
  });
}

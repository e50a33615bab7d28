import type { JobContext } from "../background/job-context.ts";
import type { Event } from "../event/event.ts";
import { type ArrivalStamp, compareStamps } from "../event/id.ts";
import type { Store } from "../storage/store.ts";

/** Events added in one step, and users checked in one. */
const stepEvents = 2_000;
const stepUsers = 100;
/** Deleted events are taken off the entries within this time. Lists show exact counts before that. */
const checkEveryMs = 24 * 60 * 60 * 1_000;

/** Keeps what the list of users is sorted by up to date, behind the recording of events and not as a part of it. */
export type UserActivity = {
  /** Whether events arrived since the last update of this process, or a check is due. */
  isBehind: (nowMs: number) => Promise<boolean>;
  update: (context: JobContext, nowMs: number) => Promise<void>;
};

export function createUserActivity(store: Store): UserActivity {
  const { control, events } = store;
  let updatedTo: ArrivalStamp | null = null;

  return {
    async isBehind(nowMs) {
      const last = await events.lastArrival();
      if (last !== null && (updatedTo === null || compareStamps(last, updatedTo) > 0)) return true;
      const due = await control
        .selectFrom("userActivityPositions")
        .select("projectId")
        .where("checkedAt", "<=", nowMs - checkEveryMs)
        .limit(1)
        .execute();
      return due.length > 0;
    },

    async update({ pause }, nowMs) {
      const last = await events.lastArrival();
      const projects = await control
        .selectFrom("projects")
        .leftJoin("userActivityPositions as position", "position.projectId", "projects.id")
        .select(["projects.id", "position.ms", "position.sequence", "position.checkedAt"])
        .where("projects.deletedAt", "is", null)
        .execute();
      for (const { id, ms, sequence, checkedAt } of projects) {
        await addEvents(id, { ms: ms ?? 0, sequence: sequence ?? 0 }, checkedAt ?? nowMs, pause);
        if (checkedAt !== null && checkedAt + checkEveryMs <= nowMs) await check(id, nowMs, pause);
      }
      updatedTo = last;
    },
  };

  async function addEvents(
    projectId: number,
    from: ArrivalStamp,
    checkedAt: number,
    pause: JobContext["pause"],
  ): Promise<void> {
    for (let after = from; ; ) {
      const arrived = await events.arrivedAfter(projectId, after, stepEvents);
      const last = arrived.at(-1);
      if (!last) return;
      after = last.arrival;
      await addStep(
        projectId,
        arrived.map(({ json }) => JSON.parse(json) as Event),
        after,
        checkedAt,
      );
      await pause();
    }
  }

  /** Adds some events and the position after them in one transaction, so that each event is counted once. */
  async function addStep(
    projectId: number,
    added: Event[],
    { ms, sequence }: ArrivalStamp,
    checkedAt: number,
  ) {
    const rows = [...Map.groupBy(added, ({ userId }) => userId)].flatMap(([userId, own]) => {
      if (userId === "") return [];
      const timesMs = own.map(({ createdAt }) => Date.parse(createdAt));
      const times = { firstAt: Math.min(...timesMs), lastAt: Math.max(...timesMs) };
      return [{ projectId, userId, events: own.length, ...times }];
    });
    await control.transaction().execute(async (transaction) => {
      if (rows.length > 0) {
        await transaction
          .insertInto("userActivity")
          .values(rows)
          .onConflict((conflict) =>
            conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => {
              const own = "userActivity" as const;
              return {
                events: eb(`${own}.events`, "+", eb.ref("excluded.events")),
                firstAt: eb
                  .case()
                  .when("excluded.firstAt", "<", eb.ref(`${own}.firstAt`))
                  .then(eb.ref("excluded.firstAt"))
                  .else(eb.ref(`${own}.firstAt`))
                  .end(),
                lastAt: eb
                  .case()
                  .when("excluded.lastAt", ">", eb.ref(`${own}.lastAt`))
                  .then(eb.ref("excluded.lastAt"))
                  .else(eb.ref(`${own}.lastAt`))
                  .end(),
              };
            }),
          )
          .execute();
      }
      await transaction
        .insertInto("userActivityPositions")
        .values({ projectId, ms, sequence, checkedAt })
        .onConflict((conflict) => conflict.column("projectId").doUpdateSet({ ms, sequence }))
        .execute();
    });
  }

  /** Compares the entries with the events, some of which were deleted since. */
  async function check(projectId: number, nowMs: number, pause: JobContext["pause"]): Promise<void> {
    for (let last = ""; ; ) {
      const rows = await control
        .selectFrom("userActivity")
        .select(["userId", "events"])
        .where("projectId", "=", projectId)
        .where("userId", ">", last)
        .orderBy("userId")
        .limit(stepUsers)
        .execute();
      const counts = await exactCounts(
        store,
        projectId,
        rows.map(({ userId }) => userId),
      );
      for (const { userId, events: counted } of rows) {
        const exact = counts.get(userId) ?? 0;
        if (exact !== counted) await correct(projectId, userId, exact);
      }
      if (rows.length < stepUsers) break;
      last = rows.at(-1)!.userId;
      await pause();
    }
    await control
      .updateTable("userActivityPositions")
      .set({ checkedAt: nowMs })
      .where("projectId", "=", projectId)
      .execute();
  }

  async function correct(projectId: number, userId: string, exact: number): Promise<void> {
    const seen = await seenAt(store, projectId, userId);
    if (!seen) return dropUser(store, projectId, userId);
    await control
      .updateTable("userActivity")
      .set({ events: exact, firstAt: Date.parse(seen.first), lastAt: Date.parse(seen.last) })
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .execute();
  }
}

/** How many events each of some users has. Users without events are missing. */
export async function exactCounts(
  { events }: Store,
  projectId: number,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  if (userIds.length === 0) return new Map();
  const users = await events.users({ projectId, userIds }, userIds.length);
  return new Map(users.map(({ userId, events }) => [userId, events]));
}

/** The `createdAt` of a user's first and last event; null without events. */
export async function seenAt(
  { events }: Store,
  projectId: number,
  userId: string,
): Promise<{ first: string; last: string } | null> {
  const [first, last] = await Promise.all(
    (["asc", "desc"] as const).map(async (order) => {
      const [json] = (await events.page({ projectId, filter: { userId }, order }, 1)).events;
      return json === undefined ? null : (JSON.parse(json) as Event).createdAt;
    }),
  );
  return first && last ? { first, last } : null;
}

/** Removes the entry of a user whose events are gone. */
export async function dropUser({ control }: Store, projectId: number, userId: string): Promise<void> {
  await control
    .deleteFrom("userActivity")
    .where("projectId", "=", projectId)
    .where("userId", "=", userId)
    .execute();
}

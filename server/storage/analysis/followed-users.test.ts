/** Analyses that keep times of each user can have fewer users than others. */
import { expect, test } from "bun:test";
import { limits } from "../../core/limits.ts";
import { noPeople } from "../../testing/no-people.ts";
import { selectActiveUsers } from "./activity.ts";
import { paths } from "./paths.ts";
import type { Sources } from "./scan.ts";
import { sessions } from "./sessions.ts";

const bounds = [0, 1_000];

/** Reads no events, but numbers users as if they had some. */
function sourcesOf(users: number): Sources {
  return {
    ...noPeople,
    async scan(_query, batches) {
      // Spread over the hash table by a multiplication.
      for (let user = 1; user <= users; user++)
        batches.users.addHash(Uint32Array.of(Math.imul(user, 0x9e3779b1), user, 0), 0);
    },
  };
}

const activityQuery = { projectId: 1, filter: {}, bounds, historyFromMs: null };
const analyses: [string, (sources: Sources) => Promise<unknown>][] = [
  [
    "sessions",
    (sources) =>
      sessions(sources, { projectId: 1, bounds, counted: {}, activity: {}, idleMs: 1_000, top: 0 }, {}),
  ],
  [
    "paths",
    (sources) =>
      paths(
        sources,
        {
          ...{ projectId: 1, range: { fromMs: 0, toMs: 1_000 }, anchor: {}, steps: {}, direction: "after" },
          ...{ windowMs: 1_000, length: 1, mergesRepeats: false, names: 1 },
        },
        {},
      ),
  ],
  [
    "a list of active users",
    (sources) =>
      selectActiveUsers(sources, { of: "activity", activity: activityQuery, which: { count: 1 } }, {}),
  ],
];

test.each(analyses)(
  "%s",
  async (_name, analyze) => {
    await analyze(sourcesOf(limits.analysisFollowedUsers));
    const tooMany = analyze(sourcesOf(limits.analysisFollowedUsers + 1));
    await expect(tooMany).rejects.toMatchObject({ of: "followedUsers" });
  },
  30_000,
);

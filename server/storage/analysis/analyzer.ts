import { limits } from "../../core/limits.ts";
import { type ProblemError, problem } from "../../core/problems.ts";
import { FairQueue } from "../../scheduling/fair-queue.ts";
import type { EventAnalyzer } from "../event-store.ts";
import type { Watch } from "./queries.ts";
import { TooLargeError, type TooMany } from "./too-large.ts";

/**
 * Lets a few analyses run at a time, because each can need much memory. Others wait, and projects take turns: one project
 * never has all places. Turns what they throw into problems.
 */
export function limited(analyzer: EventAnalyzer): EventAnalyzer {
  const places = new FairQueue<number>({
    capacity: limits.analysesRunning,
    capacityOfOwner: limits.analysesOfProject,
    waitingOfOwner: limits.analysesWaiting,
    detail: "Too many metrics, funnels and retention tables are being computed. Try again later.",
    retryAfterSeconds: 10,
  });

  function run<Query extends { projectId: number }, Result>(
    analyze: (query: Query, watch: Watch) => Promise<Result>,
    query: Query,
    watch: Watch,
  ): Promise<Result> {
    return places.run(query.projectId, () => runNow(analyze, query, watch), { signal: watch.signal });
  }

  async function runNow<Query, Result>(
    analyze: (query: Query, watch: Watch) => Promise<Result>,
    query: Query,
    watch: Watch,
  ): Promise<Result> {
    try {
      const result = await analyze(query, watch);
      watch.signal?.throwIfAborted();
      return result;
    } catch (error) {
      throw error instanceof TooLargeError ? tooLarge(error.of) : error;
    }
  }

  return {
    measure: (query, watch) => run(analyzer.measure, query, watch),
    funnel: (query, watch) => run(analyzer.funnel, query, watch),
    retention: (query, watch) => run(analyzer.retention, query, watch),
    paths: (query, watch) => run(analyzer.paths, query, watch),
    activity: (query, watch) => run(analyzer.activity, query, watch),
    countedUsers: (query, watch) => run(analyzer.countedUsers, query, watch),
    sessions: (query, watch) => run(analyzer.sessions, query, watch),
    usersWith: (query, watch) => run(analyzer.usersWith, query, watch),
  };
}

function tooLarge(of: TooMany): ProblemError {
  if (of === "properties")
    return problem("query-too-expensive", {
      detail: `Users of this project have more than ${text(limits.statsSplitValues)} values of this property. Split by one with fewer values.`,
    });
  if (of === "memberships")
    return problem("query-too-expensive", {
      detail: `The groups of this type have more than ${text(limits.analysisPairs)} members in all. Search for single groups instead, such as company:acme.`,
    });
  const what: Record<Exclude<TooMany, "properties" | "memberships">, string> = {
    users: `more than ${text(limits.analysisUsers)} different users`,
    followedUsers: `more than ${text(limits.analysisFollowedUsers)} different users`,
    pairs: `more than ${text(limits.analysisPairs)} different pairs of a user and a value of "split"`,
    values: `more than ${text(limits.statsSplitValues)} values of "split"`,
    groups: `events that name more than ${text(limits.statsSplitValues)} different groups`,
    names: `more than ${text(limits.statsSplitValues)} different event names`,
    places: `more users than paths of this length can have`,
    events: `more than ${text(limits.analysisEvents)} events of users`,
  };
  return problem("query-too-expensive", {
    detail: `This range has ${what[of]}. Use a shorter range or more filters.`,
  });
}

function text(count: number): string {
  return count.toLocaleString("en");
}

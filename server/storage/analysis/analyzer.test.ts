import { expect, test } from "bun:test";
import { limits } from "../../core/limits.ts";
import type { EventAnalyzer } from "../event-store.ts";
import { limited } from "./analyzer.ts";
import type { RetentionQuery, Watch } from "./queries.ts";
import { TooLargeError } from "./too-large.ts";

const settled = () => new Promise(setImmediate);

/** An analyzer whose retention tables are computed by `retention`. */
function analyzerWith(retention: (query: RetentionQuery, watch: Watch) => Promise<never[]>) {
  const notCalled = () => Promise.reject(new Error("It is not called."));
  return limited({
    measure: notCalled,
    funnel: notCalled,
    paths: notCalled,
    activity: notCalled,
    countedUsers: notCalled,
    sessions: notCalled,
    usersWith: notCalled,
    retention,
  } satisfies EventAnalyzer);
}

const query: RetentionQuery = { projectId: 1, bounds: [0, 1], start: {}, return: {}, historyFromMs: null };

test("only some analyses of a project run at a time, and the others follow in order", async () => {
  const started: PromiseWithResolvers<never[]>[] = [];
  const analyzer = analyzerWith(() => {
    const own = Promise.withResolvers<never[]>();
    started.push(own);
    return own.promise;
  });
  const running = Array.from({ length: limits.analysesOfProject + 2 }, () => analyzer.retention(query, {}));
  await settled();
  expect(started).toHaveLength(limits.analysesOfProject);
  started[0]!.resolve([]);
  await running[0];
  await settled();
  expect(started).toHaveLength(limits.analysesOfProject + 1);
  started[1]!.reject(new Error("failed"));
  await expect(running[1]).rejects.toThrow("failed");
  await settled();
  expect(started).toHaveLength(limits.analysesOfProject + 2);
  for (const { resolve } of started) resolve([]);
  await Promise.allSettled(running);
});

test("a project's analyses leave a place for those of another one", async () => {
  const never = Promise.withResolvers<never[]>();
  const started: number[] = [];
  const analyzer = analyzerWith(({ projectId }) => {
    started.push(projectId);
    return never.promise;
  });
  const all = Array.from({ length: 20 }, () => analyzer.retention(query, {}));
  all.push(analyzer.retention({ ...query, projectId: 2 }, {}));
  await settled();
  expect(started).toEqual([...Array(limits.analysesOfProject).fill(1), 2]);
  never.resolve([]);
  await Promise.all(all);
});

test("an analysis that nobody waits for any more leaves the queue", async () => {
  const never = Promise.withResolvers<never[]>();
  let calls = 0;
  const analyzer = analyzerWith(() => {
    calls++;
    return never.promise;
  });
  const running = Array.from({ length: limits.analysesOfProject }, () => analyzer.retention(query, {}));
  const controller = new AbortController();
  const waiting = analyzer.retention(query, { signal: controller.signal });
  controller.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const next = analyzer.retention(query, {});
  never.resolve([]);
  await Promise.all([...running, next]);
  expect(calls).toBe(limits.analysesOfProject + 1);
});

test("too many that wait are refused", async () => {
  const never = Promise.withResolvers<never[]>();
  const analyzer = analyzerWith(() => never.promise);
  const all = Array.from({ length: limits.analysesOfProject + limits.analysesWaiting }, () =>
    analyzer.retention(query, {}),
  );
  await expect(analyzer.retention(query, {})).rejects.toThrow("overloaded: Too many");
  never.resolve([]);
  await Promise.all(all);
});

test("too much memory is a problem that says what to do", async () => {
  const large = analyzerWith(() => Promise.reject(new TooLargeError("users")));
  await expect(large.retention(query, {})).rejects.toThrow(
    "query-too-expensive: This range has more than 4,000,000 different users. Use a shorter range or more filters.",
  );
  const varied = analyzerWith(() => Promise.reject(new TooLargeError("properties")));
  await expect(varied.retention(query, {})).rejects.toThrow(
    "query-too-expensive: Users of this project have more than 100,000 values of this property. Split by one",
  );
});

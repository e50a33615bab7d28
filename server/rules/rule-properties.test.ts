/** Properties of all kinds of rules, over any sequence of events. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { RuleWhen } from "../schemas/rule.ts";
import { effort } from "../testing/engine.ts";
import { asyncIterable, eventAt, RunningRule, startMs } from "../testing/running-rule.ts";
import { isTold, previewRule, type ReceivedEvent } from "./preview.ts";
import { onMatch, startState } from "./rule-state.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const minutes = fc.constantFrom(1, 5, 60, 26 * 60);
const timeZone = fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe");
const anyWhen: fc.Arbitrary<RuleWhen> = fc.oneof(
  fc.constant({ type: "each" as const }),
  fc.record({ type: fc.constant("burst" as const), minutes }),
  fc.record({ type: fc.constant("digest" as const), every: fc.constant("hour" as const), timeZone }),
  fc.record({
    type: fc.constant("digest" as const),
    every: fc.constant("day" as const),
    at: fc.constantFrom("02:30", "08:00"),
    timeZone,
  }),
  fc.record({
    type: fc.constant("digest" as const),
    every: fc.constant("week" as const),
    at: fc.constant("08:00"),
    weekday: fc.constantFrom("monday" as const, "sunday" as const),
    timeZone,
  }),
  fc.record({ type: fc.constant("silence" as const), minutes }),
  fc.record({ type: fc.constant("count" as const), above: fc.integer({ min: 1, max: 5 }), minutes }),
  fc.record({ type: fc.constant("number" as const), tag: fc.constant("n"), above: fc.constant(3) }),
);

/** Pauses of any scale, from milliseconds to days. Round ones meet the ends of windows. */
const pauseMs = fc.oneof(
  fc.integer({ min: 0, max: 2_000 }),
  fc.constantFrom(0, minuteMs, 5 * minuteMs, hourMs, 26 * hourMs),
  fc.integer({ min: 0, max: 10 * minuteMs }),
  fc.integer({ min: 0, max: 40 * hourMs }),
);
const ageMs = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  fc.integer({ min: -hourMs, max: hourMs }),
  fc.constantFrom(minuteMs, hourMs, hourMs + 1, 26 * hourMs),
);

/** Events in the order of arrival. Nine in ten have the name that the rules look for. */
const arrivals = fc
  .array(
    fc.record({ pauseMs, ageMs, n: fc.integer({ min: 0, max: 6 }), isMatch: fc.integer({ min: 0, max: 9 }) }),
    { maxLength: 60 },
  )
  .map((steps) => {
    let nowMs = startMs;
    return steps.map(({ pauseMs, ageMs, n, isMatch }): ReceivedEvent => {
      nowMs += pauseMs;
      const fields = { name: isMatch > 0 ? "match" : "other", channelId: `c${n}`, tags: { n: String(n) } };
      return { receivedMs: nowMs, event: eventAt(nowMs - ageMs, fields) };
    });
  });

const isMatch = ({ event }: ReceivedEvent) => event.name === "match";
const q = "name:match";

describe("any sequence of events", () => {
  test("the preview equals what a rule alerts on, whenever time is checked and however often it restarts", async () => {
    const lateness = fc.infiniteStream(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * hourMs })));
    await fc.assert(
      fc.asyncProperty(anyWhen, arrivals, pauseMs, lateness, async (when, events, restMs, lateMs) => {
        const toMs = (events.at(-1)?.receivedMs ?? startMs) + restMs;
        const prompt = new RunningRule(when);
        const late = new RunningRule(when);
        for (const { receivedMs, event } of [...events.filter(isMatch), { receivedMs: toMs, event: null }]) {
          for (let dueMs = prompt.dueAtMs; dueMs !== null && dueMs <= receivedMs; dueMs = prompt.dueAtMs) {
            const notified = prompt.pass(dueMs);
            expect(notified.map(({ atMs }) => atMs)).toEqual([dueMs]);
          }
          const dueMs = late.dueAtMs;
          const checkMs = dueMs === null ? null : dueMs + lateMs.next().value!;
          if (checkMs !== null && checkMs <= receivedMs) late.pass(checkMs);
          if (event === null) for (const rule of [prompt, late]) rule.pass(receivedMs);
          else for (const rule of [prompt, late]) rule.match(receivedMs, event);
        }

        const preview = await previewRule({ q, when, forEach: null }, asyncIterable(events), startMs, toMs);
        expect(prompt.notifications).toEqual(late.notifications);
        const told = prompt.notifications.filter(isTold);
        expect(preview).toEqual({
          count: told.length,
          notifications: told.slice(-limits.previewNotifications),
        });
        const moments = prompt.notifications.map(({ atMs }) => atMs);
        expect(moments).toEqual(moments.toSorted((a, b) => a - b));
      }),
      { numRuns: effort(400, 10_000) },
    );
  });

  test("each event alerts or is counted once, also if time runs ahead or the clock is set back", () => {
    const collecting = anyWhen.filter(({ type }) => type === "each" || type === "burst" || type === "digest");
    const moment = fc.integer({ min: startMs, max: startMs + 3 * 24 * hourMs });
    const steps = fc.array(fc.record({ isEvent: fc.boolean(), moment }), { maxLength: 60 });
    const inOrder = steps.map((all) => all.toSorted((a, b) => a.moment - b.moment));
    fc.assert(
      fc.property(collecting, fc.oneof(steps, inOrder), (when, steps) => {
        const rule = new RunningRule(when);
        for (const { isEvent, moment } of steps) {
          if (isEvent) rule.match(moment);
          else rule.pass(moment);
        }
        rule.pass(startMs + 60 * 24 * hourMs);
        const counts = rule.notifications.map((notification) =>
          "count" in notification ? notification.count : 1,
        );
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(
          steps.filter(({ isEvent }) => isEvent).length,
        );
      }),
      { numRuns: effort(500, 10_000) },
    );
  });

  test("silences are the gaps between events that are signs of life", () => {
    fc.assert(
      fc.property(minutes, arrivals, pauseMs, (minutes, events, restMs) => {
        const toMs = (events.at(-1)?.receivedMs ?? startMs) + restMs;
        const rule = new RunningRule({ type: "silence", minutes });
        for (const { event, receivedMs } of events) rule.match(receivedMs, event);
        rule.pass(toMs);

        const windowMs = minutes * minuteMs;
        const signs = events.filter(
          ({ event, receivedMs }) => Date.parse(event.createdAt) >= receivedMs - windowMs,
        );
        const moments = [startMs, ...signs.map(({ receivedMs }) => receivedMs)];
        const expected = moments.flatMap((sinceMs, index) => {
          const next = signs[index];
          const last = signs[index - 1];
          const newestIds = last ? [last.event.id] : [];
          const silence = { type: "silence", atMs: sinceMs + windowMs, sinceMs, newestIds };
          if ((next?.receivedMs ?? toMs) - sinceMs < windowMs) return [];
          if (next === undefined) return [silence];
          const { event, receivedMs } = next;
          return [silence, { type: "recovery", atMs: receivedMs, afterMs: receivedMs - sinceMs, event }];
        });
        expect(rule.notifications as object[]).toEqual(expected);
      }),
      { numRuns: effort(500, 10_000) },
    );
  });

  test("a threshold is exceeded by the events of the window, counted one by one", () => {
    fc.assert(
      fc.property(minutes, fc.integer({ min: 1, max: 5 }), arrivals, (minutes, above, events) => {
        const rule = new RunningRule({ type: "count", above, minutes });
        const windowMs = minutes * minuteMs;
        const bucketMs = windowMs / 60;
        const bucket = (ms: number) => Math.floor(ms / bucketMs);
        const counted: number[] = [];
        let wasAbove = false;
        for (const { event, receivedMs } of events) {
          const notified = rule.match(receivedMs, event).filter(isTold);
          if (receivedMs - Date.parse(event.createdAt) > limits.notifyAgeMs) {
            expect(notified).toEqual([]);
            continue;
          }
          const within = (ms: number) => bucket(receivedMs) - bucket(ms) < 60;
          const before = counted.filter(within).length;
          counted.push(receivedMs);
          wasAbove = wasAbove && before > above;
          const isAbove = before + 1 > above;
          expect(notified.map((each) => "count" in each && each.count)).toEqual(
            isAbove && !wasAbove ? [before + 1] : [],
          );
          wasAbove = isAbove;
          // The window is at most as long as the rule says, and at most a bucket shorter.
          const lastOf = (ms: number) => counted.filter((each) => receivedMs - each < ms).length;
          expect(before + 1).toBeWithin(lastOf(windowMs - bucketMs), lastOf(windowMs) + 1);
        }
      }),
      { numRuns: effort(500, 10_000) },
    );
  });
});

test("the state stays small, however many events match and however long their texts are", () => {
  // Each of these characters takes two in JSON.
  const longest = {
    channelId: '"'.repeat(limits.channelCharacters),
    tags: Object.fromEntries(
      Array.from({ length: limits.tags }, (_, n) => [`n${n}`, "x".repeat(limits.tagValueCharacters)]),
    ),
    description: "x".repeat(limits.descriptionCharacters),
  };
  fc.assert(
    fc.property(anyWhen, fc.constantFrom(1, 997, 9_973, minuteMs, hourMs), (when, stepMs) => {
      const rule = { when };
      let state = startState(rule, startMs);
      let largest = 0;
      for (let n = 0; n < 1_000; n++) {
        const receivedMs = startMs + n * stepMs;
        const name = String(n).padStart(limits.nameCharacters, '"');
        state = onMatch(rule, state, eventAt(receivedMs, { ...longest, name }), receivedMs).state;
        if (n % 50 === 0) largest = Math.max(largest, JSON.stringify(state).length);
      }
      expect(largest).toBeLessThan(8_000);
    }),
    { numRuns: effort(30, 300) },
  );
});

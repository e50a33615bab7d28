import { describe, expect, test } from "bun:test";
import { asyncIterable, eventAt, startMs } from "../testing/running-rule.ts";
import { previewRule } from "./preview.ts";

/** So many minutes after the rule began. */
const at = (minutes: number) => startMs + minutes * 60_000;

describe("a preview", () => {
  test("keeps the latest notifications and counts all", async () => {
    const events = Array.from({ length: 250 }, (_, n) => ({ event: eventAt(at(n)), receivedMs: at(n) }));
    const rule = { q: "", when: { type: "each" } as const, forEach: null };
    const preview = await previewRule(rule, asyncIterable(events), startMs, at(250));
    expect(preview.count).toBe(250);
    expect(preview.notifications).toEqual(
      events.slice(-100).map(({ event, receivedMs }) => ({ type: "event", atMs: receivedMs, event })),
    );
  });

  test("of a rule for each value says which one it is about", async () => {
    const rule = { q: "", when: { type: "count", above: 1, minutes: 60 } as const, forEach: "tag.n" };
    const events = ["a", "b", "a"].map((n) => ({
      event: { ...eventAt(startMs), tags: { n } },
      receivedMs: startMs,
    }));
    const { notifications } = await previewRule(rule, asyncIterable(events), startMs, startMs);
    expect(notifications).toMatchObject([{ type: "threshold", of: "a" }]);
  });

  test("lets others have their turn", async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const event = eventAt(startMs);
    const when = { type: "count", above: 5, minutes: 60 } as const;
    const rule = { q: "payment -refund", when, forEach: null };
    const events = Array.from({ length: 20_000 }, () => ({ event, receivedMs: startMs }));
    await previewRule(rule, asyncIterable(events), startMs, startMs);
    isDone = true;
    expect(turns).toBeGreaterThan(3);
  });
});

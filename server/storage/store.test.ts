// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sql } from "kysely";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { csvRow } from "../event/event-format.ts";
import { ArrivalClock, type ArrivalStamp, compareStamps } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { removeEvents } from "../testing/remove-events.ts";
import type { CountQuery, EventQuery, KnownTexts, UserTerm } from "./event-queries.ts";
import type { AcceptedEvent, Arrival } from "./event-store.ts";
import type { Store } from "./store.ts";

const day = Date.UTC(2026, 0, 31);
const hour = 3_600_000;

for (const engine of stores) {
  describe(`the store on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let clock: ArrivalClock;
    const open = async () => {
      store = await storage.open();
      clock = new ArrivalClock(await store.events.lastArrival());
    };
    beforeAll(async () => {
      storage = await engine.create();
      await open();
    });
    afterAll(async () => {
      await store.close();
      await storage.remove();
    });

    const newProject = async () => (await createProject(store.control, "Test", null)).id;
    const parse = (texts: string[]) => texts.map((text) => JSON.parse(text) as Event);

    type Made = {
      id?: string;
      createdAtMs?: number;
      channel?: string;
      name?: string;
      userId?: string;
      notify?: boolean;
      tags?: Record<string, string>;
      notifies?: boolean;
    };

    function make(projectId: number, made: Made = {}): AcceptedEvent {
      const { channel = "c", createdAtMs, notifies = false, ...event } = made;
      return acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { ...event, channelId: channel },
        createdAtMs,
        hasClientId: event.id !== undefined,
        notifies,
      });
    }

    async function append(projectId: number, made: Made = {}): Promise<AcceptedEvent> {
      const event = make(projectId, made);
      expect(await store.events.append(event)).toEqual({ kind: "created" });
      return event;
    }

    async function streamed(query: EventQuery): Promise<Event[]> {
      const chunks: string[] = [];
      for await (const chunk of store.events.stream(query)) chunks.push(new TextDecoder().decode(chunk));
      return JSON.parse(`[${chunks.filter((chunk) => chunk !== "").join(",")}]`);
    }

    const all = (projectId: number, more: Partial<EventQuery> = {}): EventQuery => ({
      projectId,
      filter: {},
      order: "desc",
      ...more,
    });

    test("an appended event is found, listed and streamed, byte for byte", async () => {
      const projectId = await newProject();
      const event = await append(projectId, {
        name: 'quotes " and 💰 and \u2028',
        tags: { 10: "ten", b: "\t", a: "a\nb" },
      });
      expect(await store.events.find(projectId, event.event.id)).toBe(event.json);
      expect(await store.events.page(all(projectId), 10)).toEqual({ events: [event.json], next: null });
      expect(await streamed(all(projectId))).toEqual(parse([event.json]));
    });

    test("an aborted page is not read", async () => {
      const projectId = await newProject();
      await append(projectId);
      const outcome = await store.events
        .page(all(projectId), 10, AbortSignal.abort())
        .catch((error: Error) => error.name);
      expect(outcome).toBe("AbortError");
    });

    test("a count ends when nobody waits for it any more", async () => {
      const projectId = await newProject();
      await append(projectId);
      const nowMs = Date.now();
      const query = { projectId, filter: {}, bounds: [nowMs - 86_400_000, nowMs + 86_400_000], series: 0 };
      const gone = new AbortController();
      const outcome = store.events.count(query, gone.signal).catch((error: Error) => error.name);
      gone.abort();
      expect(await outcome).toBe("AbortError");
      expect((await store.events.count(query))!.all).toEqual([1]);
    });

    test("events are found by a search, and returned as NDJSON and CSV", async () => {
      const projectId = await newProject();
      const [paid] = [await append(projectId, { name: "Payment received" }), await append(projectId)];
      const search = parseSearch("pay* -refund")!;
      const query = all(projectId, { filter: { search } });
      expect(await store.events.page(query, 10)).toEqual({ events: [paid.json], next: null });
      for (const [format, written] of [
        ["ndjson", `${paid.json}\n`] as const,
        ["csv", csvRow(paid.event)] as const,
      ]) {
        expect((await store.events.page({ ...query, format }, 10)).events).toEqual([written]);
        let text = "";
        for await (const chunk of store.events.stream({ ...query, format }))
          text += new TextDecoder().decode(chunk);
        expect(text).toBe(written);
      }
    });

    test("texts of events are found by prefix", async () => {
      const [projectId, other] = [await newProject(), await newProject()];
      await append(other, { name: "ab", userId: "ab", tags: { ab: "ab" } });
      for (const text of ["a", "ab", "aB c", "b", "ä"])
        await append(projectId, { name: text, userId: text, tags: { [text]: "1", key: text } });
      const starting = (texts: KnownTexts, prefix: string, limit = 9) =>
        store.events.startingWith(projectId, texts, prefix, limit);
      for (const texts of [
        { kind: "name" },
        { kind: "user" },
        { kind: "key" },
        { kind: "value", key: "key" },
      ] as const) {
        expect((await starting(texts, "a")).toSorted()).toEqual(["a", "aB c", "ab"]);
        expect(await starting(texts, "aB")).toEqual(["aB c"]);
        expect(await starting(texts, "ä")).toEqual(["ä"]);
        expect(await starting(texts, "c")).toEqual([]);
        expect(await starting(texts, "", 2)).toHaveLength(2);
      }
      expect(await starting({ kind: "value", key: "ke" }, "")).toEqual([]);
    });

    const noPause = async () => {};

    test("events are removed in steps, oldest first, and others stay", async () => {
      const [projectId, other] = [await newProject(), await newProject()];
      const mine: AcceptedEvent[] = [];
      for (let n = 0; n < 5; n++) {
        mine.push(await append(projectId, { userId: "u", channel: "c", createdAtMs: day + n }));
        await append(projectId, { userId: "v", channel: n % 2 ? "c" : "d", createdAtMs: day + n });
        await append(other, { userId: "u", channel: "c", createdAtMs: day + n });
      }
      const removal = { projectId, userIds: ["u"] };
      const idOf = ({ event }: AcceptedEvent) => event.id;
      expect(await store.events.countRemovable(removal)).toBe(5);
      expect(await store.events.countRemovable({ ...removal, fromMs: day + 1, toMs: day + 3 })).toBe(2);
      const { ids, next } = await store.events.remove({ ...removal, toMs: day + 3 }, 2);
      expect(ids).toEqual(mine.slice(0, 2).map(idOf));
      expect(await store.events.remove(next!, 10)).toEqual({ ids: [idOf(mine[2]!)], next: null });
      const rest = { ...removal, channels: ["c"], toMs: day + 4 };
      expect(await store.events.remove(rest, 10)).toEqual({ ids: [idOf(mine[3]!)], next: null });
      const none = { projectId, channels: ["none"] };
      expect(await store.events.remove(none, 10)).toEqual({ ids: [], next: null });
      expect((await store.events.page(all(projectId, { filter: { userId: "u" } }), 10)).events).toEqual([
        mine[4]!.json,
      ]);
      expect(await store.events.countRemovable({ projectId })).toBe(6);
      expect(await store.events.countRemovable({ projectId: other })).toBe(5);
    });

    test("between the steps of a removal, events can be removed, and others stored in their place", async () => {
      const projectId = await newProject();
      const [first, second, third] = [0, 1, 2].map((n) =>
        make(projectId, { userId: "u", createdAtMs: day + n }),
      );
      for (const event of [first, second, third]) await store.events.append(event!);
      const { ids, next } = await store.events.remove({ projectId, userIds: ["u"] }, 1);
      expect(ids).toEqual([first!.event.id]);
      await store.events.remove({ projectId, id: second!.event.id }, 1);
      const other = await append(projectId, { userId: "v", createdAtMs: day + 1 });
      expect(await store.events.remove(next!, 10)).toEqual({ ids: [third!.event.id], next: null });
      expect((await store.events.page(all(projectId), 10)).events).toEqual([other.json]);
    });

    test("thousands of events of one millisecond are removed, and others stay", async () => {
      const projectId = await newProject();
      const many = Array.from({ length: 6_600 }, (_, n) =>
        make(projectId, { userId: n % 11 === 0 ? "stays" : "goes", createdAtMs: day }),
      );
      await store.events.appendAll(many);
      const removed = await removeEvents(store, { projectId, userIds: ["goes"] });
      expect(new Set(removed)).toEqual(
        new Set(many.filter(({ event }) => event.userId === "goes").map(({ event }) => event.id)),
      );
      expect(removed).toHaveLength(6_000);
      expect(await store.events.countRemovable({ projectId })).toBe(600);
    });

    test("one event is removed by its id, only from its own project", async () => {
      const [projectId, other] = [await newProject(), await newProject()];
      const made: Made[] = [
        {},
        { createdAtMs: day },
        { id: Bun.randomUUIDv7() },
        { id: Bun.randomUUIDv7(), createdAtMs: day },
      ];
      for (const each of made) {
        const { event } = await append(projectId, each);
        expect((await store.events.remove({ projectId: other, id: event.id }, 1)).ids).toEqual([]);
        expect((await store.events.remove({ projectId, id: event.id }, 1)).ids).toEqual([event.id]);
        expect((await store.events.remove({ projectId, id: event.id }, 1)).ids).toEqual([]);
        expect(await store.events.find(projectId, event.id)).toBeNull();
        // The id is free again.
        if (each.id) await append(projectId, each);
      }
    });

    test("an event is stored and removed with its counters and its entry in the outbox, or not at all", async () => {
      const projectId = await newProject();
      const event = make(projectId, { notifies: true });
      const removal = { projectId, id: event.event.id };
      const withoutOutbox = async (work: () => Promise<unknown>) => {
        await sql`ALTER TABLE outbox RENAME TO outbox_away`.execute(store.control);
        expect(await work().catch((error: Error) => error)).toBeInstanceOf(Error);
        await sql`ALTER TABLE outbox_away RENAME TO outbox`.execute(store.control);
      };
      const expectStored = async (times: number) => {
        expect((await store.events.page(all(projectId), 10)).events).toHaveLength(times);
        const counts = { projectId, filter: {}, bounds: [0, Date.now() + hour], series: 1 };
        expect((await store.events.count(counts))!.all).toEqual([times]);
      };
      await withoutOutbox(() => store.events.append(event));
      await expectStored(0);
      await store.events.append(event);
      await withoutOutbox(() => store.events.remove(removal, 1));
      await expectStored(1);
      await store.events.remove(removal, 1);
      await expectStored(0);
    });

    test("a purge and shrink leave stored events unchanged", async () => {
      const projectId = await newProject();
      for (let n = 0; n < 20; n++) await append(projectId, { userId: n % 2 ? "gone" : "kept" });
      await store.events.remove({ projectId, userIds: ["gone"] }, 100);
      const before = await store.events.page(all(projectId), 100);
      expect(await store.events.purge(noPause)).toEqual({ copies: 0 });
      await store.events.shrink(noPause);
      expect(await store.events.page(all(projectId), 100)).toEqual(before);
      expect(before.events).toHaveLength(10);
      expect(await store.events.countRemovable({ projectId, userIds: ["kept"] })).toBe(10);
    });

    test("an empty store answers everything", async () => {
      const projectId = await newProject();
      expect(await store.events.page(all(projectId), 10)).toEqual({ events: [], next: null });
      expect(await streamed(all(projectId))).toEqual([]);
      expect(await store.events.find(projectId, Bun.randomUUIDv7())).toBeNull();
      expect(await store.events.arrivedAfter(projectId, { ms: 0, sequence: 0 }, 10)).toEqual([]);
    });

    test("an event of one project is not found in another", async () => {
      const [mine, theirs] = [await newProject(), await newProject()];
      const made = await append(mine);
      const sent = await append(mine, { id: Bun.randomUUIDv7(), createdAtMs: day });
      for (const { event } of [made, sent]) expect(await store.events.find(theirs, event.id)).toBeNull();
      expect((await store.events.page(all(theirs), 10)).events).toEqual([]);
      expect(await store.events.arrivedAfter(theirs, { ms: 0, sequence: 0 }, 10)).toEqual([]);
    });

    describe("a duplicate returns the stored event", () => {
      const ways: [string, Made][] = [
        ["of an id that a client made", { id: Bun.randomUUIDv7() }],
        ["of an id that a client made, on a dated event", { id: Bun.randomUUIDv7(), createdAtMs: day }],
        ["of an id that the server made", {}],
        ["of an id that the server made, on a dated event", { createdAtMs: day }],
      ];
      for (const [name, made] of ways) {
        test(name, async () => {
          const projectId = await newProject();
          const event = await append(projectId, made);
          for (const again of [{}, { createdAtMs: day + 1 }, { name: "another" }]) {
            const result = await store.events.append(make(projectId, { id: event.event.id, ...again }));
            expect(result).toEqual({ kind: "duplicate", json: event.json });
          }
          expect(await store.events.find(projectId, event.event.id)).toBe(event.json);
          expect((await store.events.page(all(projectId), 10)).events).toHaveLength(1);
        });
      }

      test("within one commit", async () => {
        const projectId = await newProject();
        const id = Bun.randomUUIDv7();
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) => store.events.append(make(projectId, { id, name: `${n}` }))),
        );
        expect(results.map(({ kind }): string => kind).sort()).toEqual([
          "created",
          ...Array<string>(19).fill("duplicate"),
        ]);
        expect(new Set(results.map((result) => (result.kind === "duplicate" ? result.json : ""))).size).toBe(
          2,
        );
      });
    });

    test("events of one batch get their results in order", async () => {
      const projectId = await newProject();
      const known = await append(projectId, { id: Bun.randomUUIDv7() });
      const events = Array.from({ length: 6_000 }, (_, n) =>
        make(projectId, n % 100 === 7 ? { id: known.event.id } : { name: `${n}` }),
      );
      const [results, single] = await Promise.all([
        store.events.appendAll(events),
        store.events.append(make(projectId)),
      ]);
      expect(results).toEqual(
        events.map((_, n) => (n % 100 === 7 ? { kind: "duplicate", json: known.json } : { kind: "created" })),
      );
      expect(single).toEqual({ kind: "created" });
      expect(await streamed(all(projectId))).toHaveLength(6_000 - 60 + 2);
    });

    describe("events with a companion", () => {
      const keep = { events: 10, ms: 60_000 };
      const idempotency = (responseTemplate: string) =>
        ({ kind: "idempotency", key: "k", bodyHash: "h", responseTemplate }) as const;
      const keysOf = (projectId: number) =>
        store.control.selectFrom("idempotencyKeys").selectAll().where("projectId", "=", projectId).execute();
      const rejectedOf = (projectId: number) =>
        store.control.selectFrom("rejectedEvents").selectAll().where("projectId", "=", projectId).execute();
      const rejection = (projectId: number, rejectedAt = Date.now()) => ({
        projectId,
        keyId: null,
        body: "{\0}",
        cut: false,
        problem: "{}",
        reason: "",
        rejectedAt,
      });

      test("an Idempotency-Key is stored with its response and the results", async () => {
        const projectId = await newProject();
        const known = await append(projectId, { id: Bun.randomUUIDv7() });
        const events = [make(projectId), make(projectId, { id: known.event.id })];
        const results = await store.events.appendWith(events, idempotency("[]"));
        expect(results).toEqual([{ kind: "created" }, { kind: "duplicate", json: known.json }]);
        const [row] = await keysOf(projectId);
        expect(row).toMatchObject({ key: "k", bodyHash: "h", responseTemplate: "[]" });
        expect(JSON.parse(row!.results)).toEqual(results!);
      });

      test("an expired Idempotency-Key is replaced, and other expired ones are deleted", async () => {
        const projectId = await newProject();
        await store.events.appendWith([make(projectId)], idempotency("old"));
        await store.control.updateTable("idempotencyKeys").set({ createdAt: 0 }).execute();
        await store.events.appendWith([make(projectId)], { ...idempotency("new"), key: "l" });
        expect(await keysOf(projectId)).toMatchObject([{ key: "l" }]);
        await store.control.updateTable("idempotencyKeys").set({ createdAt: 0 }).execute();
        await store.events.appendWith([make(projectId)], { ...idempotency("newer"), key: "l" });
        expect(await keysOf(projectId)).toMatchObject([{ key: "l", responseTemplate: "newer" }]);
      });

      test("an existing Idempotency-Key is left unchanged, and nothing is stored with it", async () => {
        const projectId = await newProject();
        const results = await Promise.all(
          ["a", "b", "c"].map((template) =>
            store.events.appendWith([make(projectId), make(projectId)], idempotency(template)),
          ),
        );
        expect(results.filter((result) => result !== null)).toHaveLength(1);
        expect(await store.events.appendWith([make(projectId)], idempotency("d"))).toBeNull();
        const responseTemplate = ["a", "b", "c"][results.findIndex((result) => result !== null)];
        expect(await keysOf(projectId)).toMatchObject([{ responseTemplate }]);
        expect(await streamed(all(projectId))).toHaveLength(2);
      });

      test("a rejected event is deleted when it is resent, once, and only in its own project", async () => {
        const [projectId, another] = [await newProject(), await newProject()];
        await store.events.keepRejected([rejection(projectId)], keep);
        const [rejected] = await rejectedOf(projectId);
        expect(rejected!.body).toBe("{\0}");
        const companion = { kind: "replay", rejectedId: rejected!.id } as const;
        expect(await store.events.appendWith([make(another)], companion)).toBeNull();
        const results = await Promise.all(
          Array.from({ length: 5 }, () => store.events.appendWith([make(projectId)], companion)),
        );
        expect(results.filter((result) => result !== null)).toHaveLength(1);
        expect(await rejectedOf(projectId)).toEqual([]);
        expect(await streamed(all(projectId))).toHaveLength(1);
        expect(await streamed(all(another))).toEqual([]);
      });

      test("rejected events are kept up to a number and an age", async () => {
        const [projectId, another] = [await newProject(), await newProject()];
        await store.events.keepRejected([rejection(another, Date.now() - 120_000)], {
          events: 10,
          ms: 600_000,
        });
        await Promise.all(
          Array.from({ length: 30 }, () => store.events.keepRejected([rejection(projectId)], keep)),
        );
        expect(await rejectedOf(projectId)).toHaveLength(10);
        expect(await rejectedOf(another)).toEqual([]);
      });
    });

    test("the order is by createdAt, then id, not by arrival", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              at: fc.option(fc.integer({ min: 0, max: 4 })),
              own: fc.boolean(),
              seed: fc.integer({ min: 0, max: 2 ** 40 }),
            }),
            { minLength: 1, maxLength: 60 },
          ),
          fc.integer({ min: 1, max: 20 }),
          async (rows, limit) => {
            const projectId = await newProject();
            const events = rows.map(({ at, own, seed }) =>
              make(projectId, {
                ...(at !== null && { createdAtMs: day + at }),
                ...(own && { id: Bun.randomUUIDv7("hex", seed) }),
              }),
            );
            await Promise.all(events.map((event) => store.events.append(event)));
            const expected = events
              .toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.event.id < b.event.id ? -1 : 1))
              .map(({ event }) => event.id);
            for (const order of ["asc", "desc"] as const) {
              const seen: string[] = [];
              let query: EventQuery = all(projectId, { order });
              for (;;) {
                const page = await store.events.page(query, limit);
                expect(page.events.length).toBeLessThanOrEqual(limit);
                seen.push(...parse(page.events).map(({ id }) => id));
                if (!page.next) break;
                query = { ...query, after: page.next };
              }
              expect(seen).toEqual(order === "asc" ? expected : expected.toReversed());
              expect((await streamed(all(projectId, { order }))).map(({ id }) => id)).toEqual(seen);
            }
          },
        ),
        { numRuns: 40 },
      );
    });

    test("a stream continues over many chunks, and over one millisecond that fills several", async () => {
      const projectId = await newProject();
      const count = 5_500;
      for (let n = 0; n < count; n += 500) {
        await Promise.all(
          Array.from({ length: 500 }, (_, i) =>
            store.events.append(make(projectId, { name: `${n + i}`, ...(i % 2 && { createdAtMs: day }) })),
          ),
        );
      }
      const events = await streamed(all(projectId));
      expect(new Set(events.map(({ id }) => id)).size).toBe(count);
      expect(await streamed(all(projectId, { order: "asc" }))).toEqual(events.toReversed());
      expect(await streamed(all(projectId, { filter: { toMs: day + 1 } }))).toHaveLength(count / 2);
    });

    test("a stream that is abandoned in the middle blocks nothing", async () => {
      const projectId = await newProject();
      await Promise.all(Array.from({ length: 100 }, () => store.events.append(make(projectId))));
      for await (const _ of store.events.stream(all(projectId))) break;
      await append(projectId);
    });

    describe("what arrived after a stamp", () => {
      test("is in the order of arrival, dated or not, in pages without gaps or duplicates", async () => {
        const projectId = await newProject();
        const start: ArrivalStamp = clock.next();
        const events = Array.from({ length: 230 }, (_, n) =>
          make(projectId, n % 3 ? {} : { createdAtMs: n % 2 ? day + n : Date.now() + 3_600_000 }),
        );
        await Promise.all(events.map((event) => store.events.append(event)));
        const seen: string[] = [];
        for (let after = start; ; ) {
          const page = await store.events.arrivedAfter(projectId, after, 50);
          for (const { arrival, json } of page) {
            expect(compareStamps(arrival, after)).toBeGreaterThan(0);
            after = arrival;
            seen.push(json);
          }
          if (page.length === 0) break;
        }
        expect(seen).toEqual(events.map(({ json }) => json));
      });

      test("is in shorter pages if the events are long", async () => {
        const projectId = await newProject();
        let after: ArrivalStamp = clock.next();
        const events: AcceptedEvent[] = [];
        for (let n = 0; n < 7; n++) {
          events.push(await append(projectId, { tags: { long: "x".repeat(n === 3 ? 2_000_000 : 400_000) } }));
        }
        const lengths: number[] = [];
        for (;;) {
          const page = await store.events.arrivedAfter(projectId, after, 50);
          if (page.length === 0) break;
          lengths.push(page.length);
          after = page.at(-1)!.arrival;
        }
        expect(lengths).toEqual([2, 1, 1, 2, 1]);
      });

      test("is nothing after a stamp far in the future", async () => {
        const projectId = await newProject();
        await append(projectId);
        for (const ms of [Date.now() + 1e9, 2 ** 42, 999_999_999_999_999]) {
          expect(await store.events.arrivedAfter(projectId, { ms, sequence: 1_048_575 }, 10)).toEqual([]);
        }
      });
    });

    test("what arrives is reported once it is durable, in the order of arrival, and nothing else is", async () => {
      const projectId = await newProject();
      const known = await append(projectId, { id: Bun.randomUUIDv7() });
      const reported: (Arrival & { notified: boolean })[] = [];
      await store.events.follow({
        projects: () => [projectId],
        arrived: ({ projectId, event, json, arrival }, notified) =>
          reported.push({ projectId, event, json, arrival, notified }),
        reached() {},
        skipped() {},
        deleted() {},
        told() {},
      });
      const events = [
        make(projectId),
        make(projectId, { id: known.event.id }),
        make(projectId, { createdAtMs: day }),
        make(projectId, { tags: { b: "1", a: "2" } }),
      ];
      await Promise.all(events.map((event) => store.events.append(event)));
      const tied = [make(projectId), make(projectId)];
      await store.events.appendWith(tied, {
        kind: "idempotency",
        key: "f",
        bodyHash: "",
        responseTemplate: "[]",
      });
      await store.events.appendAll([make(999_999)]);
      const expected = [...events.filter(({ event }) => event.id !== known.event.id), ...tied];
      for (const until = Date.now() + 5_000; reported.length < expected.length && Date.now() < until; )
        await Bun.sleep(5);
      expect(reported).toEqual(
        expected.map(({ projectId, event, json, arrival }) => ({
          projectId,
          event,
          json,
          arrival,
          notified: false,
        })),
      );
    });

    test("channels are created with their first event and count their events", async () => {
      const projectId = await newProject();
      await append(projectId, { channel: "b", createdAtMs: day });
      await Promise.all([
        append(projectId, { channel: "a" }),
        append(projectId, { channel: "b" }),
        append(projectId, { channel: "a", createdAtMs: day }),
      ]);
      await store.events.flushCounters();
      const rows = await store.control
        .selectFrom("channels")
        .selectAll()
        .where("projectId", "=", projectId)
        .orderBy("name")
        .execute();
      expect(rows.map(({ name, events }) => [name, events])).toEqual([
        ["a", 2],
        ["b", 2],
      ]);
      for (const { lastEventAt } of rows) expect(lastEventAt!).toBeGreaterThan(day);
    });

    test("an event that cannot be stored is rejected, and the rest of its batch is stored", async () => {
      const projectId = await newProject();
      const [first, bad, last] = await Promise.allSettled([
        store.events.append(make(projectId)),
        store.events.append(make(999_999)),
        store.events.append(make(projectId)),
      ]);
      expect([first.status, bad.status, last.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect((await store.events.page(all(projectId), 10)).events).toHaveLength(2);
      await append(projectId);
    });

    test("a transaction on the control tables delays events, and both are stored", async () => {
      const projectId = await newProject();
      let appended: Promise<AcceptedEvent> | null = null;
      await store.control.transaction().execute(async (transaction) => {
        await transaction
          .updateTable("projects")
          .set({ name: "Renamed" })
          .where("id", "=", projectId)
          .execute();
        appended = append(projectId);
        await Bun.sleep(20);
      });
      await appended;
      const row = await store.control
        .selectFrom("projects")
        .select("name")
        .where("id", "=", projectId)
        .executeTakeFirstOrThrow();
      expect(row.name).toBe("Renamed");
      expect((await store.events.page(all(projectId), 10)).events).toHaveLength(1);
    });

    test("events are stored between control statements, however many wait", async () => {
      const projectId = await newProject();
      const rename = () =>
        store.control.updateTable("projects").set({ name: "Again" }).where("id", "=", projectId).execute();
      let renamed = 0;
      const renaming = Promise.all(Array.from({ length: 200 }, () => rename().then(() => renamed++)));
      await append(projectId);
      expect(renamed).toBeLessThan(100);
      await renaming;
    });

    test("events that wait for a transaction are limited: more are rejected, and all accepted ones are stored", async () => {
      const projectId = await newProject();
      const taken: Promise<unknown>[] = [];
      let rejection: unknown = null;
      await store.control.transaction().execute(async () => {
        while (rejection === null) {
          try {
            taken.push(store.events.append(make(projectId)));
          } catch (error) {
            rejection = error;
          }
        }
      });
      expect(rejection).toMatchObject({ code: "overloaded", options: { retryAfterSeconds: 1 } });
      expect(taken.length).toBeGreaterThan(10_000);
      await Promise.all(taken);
      expect(await streamed(all(projectId))).toHaveLength(taken.length);
      await append(projectId);
    });

    test("a failed transaction leaves nothing, and the next statement works", async () => {
      const projectId = await newProject();
      const failing = store.control.transaction().execute(async (transaction) => {
        await transaction.updateTable("projects").set({ name: "Half" }).where("id", "=", projectId).execute();
        throw new Error("stop");
      });
      expect(await failing.catch((error: Error) => error.message)).toBe("stop");
      const row = await store.control
        .selectFrom("projects")
        .select("name")
        .where("id", "=", projectId)
        .executeTakeFirstOrThrow();
      expect(row.name).toBe("Test");
      await append(projectId);
    });

    test("everything survives closing and opening, and arrivals continue after the last one", async () => {
      const projectId = await newProject();
      const events = [
        await append(projectId),
        await append(projectId, { createdAtMs: day }),
        await append(projectId, { id: Bun.randomUUIDv7() }),
      ];
      const last = clock.last;
      await store.close();
      await open();
      expect(await store.events.lastArrival()).toEqual(last);
      expect(compareStamps(clock.next(), last)).toBeGreaterThan(0);
      for (const event of events) expect(await store.events.find(projectId, event.event.id)).toBe(event.json);
      // Even if the clock was set back meanwhile.
      const late = new ArrivalClock(await store.events.lastArrival(), { now: () => day });
      expect(compareStamps(late.next(), last)).toBeGreaterThan(0);
    });

    test("the last arrival is found, whether or not its event was dated by a client", async () => {
      const projectId = await newProject();
      const ahead = Date.now() + 3_600_000;
      for (const createdAtMs of [day, undefined, ahead, undefined, day, ahead]) {
        await append(projectId, createdAtMs === undefined ? {} : { createdAtMs });
        expect(await store.events.lastArrival()).toEqual(clock.last);
      }
    });

    const count = (projectId: number, more: Partial<CountQuery> = {}): CountQuery => ({
      projectId,
      filter: {},
      bounds: [day, day + 1_000, day + hour / 2, day + 2 * hour],
      series: 10,
      ...more,
    });

    test("events are counted in buckets of any length, and split by channel, name or tag", async () => {
      const projectId = await newProject();
      for (const [ms, plan, userId] of [
        [0, "pro", "u1"],
        [999, "free", "u1"],
        [1_000, "pro", "u2"],
        [hour, "pro", ""],
        [2 * hour, "pro", "u3"],
        [-1, "pro", "u3"],
      ] as const)
        await append(projectId, { createdAtMs: day + ms, userId, tags: { plan } });
      const split = { by: "tag", key: "plan" } as const;
      expect(await store.events.count(count(projectId, { split }))).toEqual({
        all: [2, 1, 1],
        series: [
          { value: "pro", counts: [1, 1, 1] },
          { value: "free", counts: [1, 0, 0] },
        ],
      });
      const ofUser = count(projectId, { filter: { userId: "u1" }, split: { by: "channel" }, series: 1 });
      expect(await store.events.count(ofUser)).toEqual({
        all: [2, 0, 0],
        series: [{ value: "c", counts: [2, 0, 0] }],
      });
      expect(await store.events.count(count(await newProject(), { split: { by: "name" } }))).toEqual({
        all: [0, 0, 0],
        series: [],
      });
    });

    test("users are listed with their number of events, by prefix or after another user", async () => {
      const projectId = await newProject();
      for (const userId of ["", "u1", "u2", "u2", "v"]) await append(projectId, { userId });
      const users = await store.events.users({ projectId, prefix: "u" }, 10);
      expect(users.toSorted((a, b) => a.events - b.events)).toEqual([
        { userId: "u1", events: 1 },
        { userId: "u2", events: 2 },
      ]);
      const [first, ...others] = await store.events.users({ projectId, prefix: "" }, 10);
      expect(await store.events.users({ projectId, prefix: "", after: first!.userId }, 10)).toEqual(others);
      expect(await store.events.users({ projectId: await newProject(), prefix: "" }, 10)).toEqual([]);
    });

    test("users are found by the terms of a search, however many others there are", async () => {
      const projectId = await newProject();
      const other = await newProject();
      // Twice as many as one statement reads, and the rest of those with events has no properties.
      const ids = Array.from({ length: 4_500 }, (_, n) => `user ${String(n).padStart(4, "0")}`);
      const propertiesOf = (n: number) => JSON.stringify({ plan: n % 2 === 0 ? "Pro" : "free", seats: n });
      for (let start = 0; start < ids.length; start += 500) {
        const rows = ids.slice(start, start + 500).map((userId, index) => ({ userId, n: start + index }));
        for (const id of [projectId, other]) {
          await store.control
            .insertInto("userActivity")
            .values(rows.map(({ userId }) => ({ projectId: id, userId, events: 1, firstAt: 1, lastAt: 1 })))
            .execute();
        }
        if (start === 4_000) continue;
        await store.control
          .insertInto("users")
          .values(
            rows.map(({ userId, n }) => ({ projectId, userId, properties: propertiesOf(n), updatedAt: 1 })),
          )
          .execute();
      }
      const found = async (terms: UserTerm[], { prefix = "", limit = 10_000 } = {}) => {
        const query = { projectId, prefix, terms };
        return (await store.events.usersMatching(query, limit, new AbortController().signal)).sort();
      };
      const some = (of: (n: number) => boolean) => ids.filter((_, n) => of(n));
      const pro = { id: null, properties: ['%"plan":"pro"%'] };
      const ends = (text: string) => ({ id: `%${text}`, properties: [`%${text}}`] });
      expect(await found([pro])).toEqual(some((n) => n < 4_000 && n % 2 === 0));
      expect(await found([ends("99")])).toEqual(some((n) => n % 100 === 99));
      expect(await found([pro, ends("50")])).toEqual(some((n) => n < 4_000 && n % 100 === 50));
      expect(await found([ends("99")], { prefix: "user 2" })).toEqual(
        some((n) => n >= 2_000 && n < 3_000 && n % 100 === 99),
      );
      expect(await found([ends("99")], { prefix: "v" })).toEqual([]);
      expect(await found([{ id: "%nobody%", properties: ["%nobody%"] }])).toEqual([]);
      expect(await found([])).toEqual(ids);
      const three = await found([pro], { limit: 3 });
      expect(three).toHaveLength(3);
      expect(some((n) => n < 4_000 && n % 2 === 0)).toContain(three[2]!);
    });

    test("a search for users ends when nobody waits for it", async () => {
      const query = { projectId: await newProject(), prefix: "", terms: [] };
      const signal = AbortSignal.abort(new Error("gone"));
      await expect(store.events.usersMatching(query, 10, signal)).rejects.toThrow("gone");
    });

    test("a page does not wait for a long count", async () => {
      const projectId = await newProject();
      await Promise.all(
        Array.from({ length: 30_000 }, (_, n) =>
          store.events.append(make(projectId, { createdAtMs: day + n, tags: { plan: `p${n % 3}` } })),
        ),
      );
      // PostgreSQL's connections answer in parallel. At least one of several counts takes longer than a page.
      const counts = engine.name === "sqlite" ? 1 : 4;
      const done: string[] = [];
      const counted = Array.from({ length: counts }, async () => {
        const found = await store.events.count(count(projectId, { split: { by: "tag", key: "plan" } }));
        done.push("count");
        return found;
      });
      await store.events.page(all(projectId), 50).then(() => done.push("page"));
      for (const found of await Promise.all(counted))
        expect(found).toMatchObject({ all: [1_000, 29_000, 0], series: { length: 3 } });
      expect(done.at(-1)).toBe("count");
    });

    describe("a transaction of the program", () => {
      const setting = async (name: string) =>
        (
          await store.control
            .selectFrom("settings")
            .select("value")
            .where("name", "=", name)
            .executeTakeFirst()
        )?.value;
      const put = (on: Store["control"], name: string, value: string) =>
        on
          .insertInto("settings")
          .values({ name, value })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
          .execute();

      test("is committed whole, or leaves nothing if a statement in the middle fails", async () => {
        const projectId = await newProject();
        const failing = store.together("control", async (transaction) => {
          await put(transaction, "first", "1");
          await transaction.insertInto("dailyEvents").values({ projectId: -1, day: 1, events: 1 }).execute();
          await put(transaction, "last", "1");
        });
        // Bun's `rejects` would block this thread, which has to hear from the writer.
        expect(await failing.catch((error: Error) => error.message)).toMatch(/foreign key/i);
        expect([await setting("first"), await setting("last")]).toEqual([undefined, undefined]);
        // The writer has not kept anything open.
        await append(projectId);
        await store.together("control", async (transaction) => {
          await put(transaction, "first", "1");
          await put(transaction, "last", "1");
        });
        expect([await setting("first"), await setting("last")]).toEqual(["1", "1"]);
        const thrown = store.together("control", async (transaction) => {
          await put(transaction, "thrown", "1");
          throw new Error("stop");
        });
        expect(await thrown.catch((error: Error) => error.message)).toBe("stop");
        expect(await setting("thrown")).toBeUndefined();
      });

      test("is one message to the writer, if there is one", async () => {
        const messages: string[] = [];
        store.observeWriter((work) => messages.push(work));
        await store.together("fan-out", async (transaction) => {
          for (const name of ["one", "two", "three"]) await put(transaction, name, "1");
        });
        store.observeWriter(() => {});
        expect(messages.filter((work) => work !== "counters")).toEqual(
          engine.name === "sqlite" ? ["fan-out"] : [],
        );
      });

      test("decides by what is there at its commit", async () => {
        await put(store.control, "count", "0");
        await Promise.all(
          Array.from({ length: 8 }, () =>
            store.together("control", async (transaction) => {
              // On PostgreSQL, this locks the row.
              await transaction
                .updateTable("settings")
                .set((eb) => ({ value: eb.ref("value") }))
                .where("name", "=", "count")
                .execute();
              const { value } = await transaction
                .selectFrom("settings")
                .select("value")
                .where("name", "=", "count")
                .executeTakeFirstOrThrow();
              await transaction
                .updateTable("settings")
                .set({ value: String(Number(value) + 1) })
                .where("name", "=", "count")
                .execute();
            }),
          ),
        );
        expect(await setting("count")).toBe("8");
      });
    });

    test("closing stores what is waiting", async () => {
      const projectId = await newProject();
      const appended = Promise.all(Array.from({ length: 500 }, () => store.events.append(make(projectId))));
      await store.close();
      expect(await appended).toHaveLength(500);
      await open();
      expect(await streamed(all(projectId))).toHaveLength(500);
    });

    test("events are newer than a time by their arrival, also late ones and those dated ahead", async () => {
      const [projectId, other] = [await newProject(), await newProject()];
      // After all other arrivals. In quarters of an hour, so that times are often those of an event, or hours.
      const baseMs = Math.ceil(clock.last!.ms / hour) * hour + hour;
      const msOf = (quarter: number) => baseMs + (quarter * hour) / 4;
      const quarters = fc.integer({ min: 0, max: 20 });
      const channels = fc.constantFrom("a", "b", "c");
      const drafts = fc.array(
        fc.record({ arrived: quarters, after: fc.integer({ min: -8, max: 8 }), channel: channels }),
        { minLength: 150, maxLength: 150 },
      );
      const sent = fc.sample(drafts, { numRuns: 1, seed: 11 })[0]!.toSorted((a, b) => a.arrived - b.arrived);
      const accepted = sent.flatMap(({ arrived, after, channel }, sequence) =>
        [projectId, other].map((projectId, index) =>
          acceptedEvent({
            projectId,
            arrival: { ms: msOf(arrived), sequence: 2 * sequence + index },
            event: { channelId: channel },
            createdAtMs: after === 0 ? undefined : msOf(arrived + after),
          }),
        ),
      );
      for (const result of await store.events.appendAll(accepted))
        expect(result).toEqual({ kind: "created" });
      await store.events.flushCounters();
      const own = accepted.filter((event) => event.projectId === projectId);
      const cursors = own.map(({ createdAtMs, event }) => ({ ms: createdAtMs, id: event.id }));
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ name: fc.constantFrom("a", "b", "none"), quarter: quarters }), {
            maxLength: 5,
          }),
          fc.integer({ min: 1, max: 60 }),
          async (asked, max) => {
            const channels = asked.map(({ name, quarter }) => ({ name, afterMs: msOf(quarter) }));
            const times = channels.map(({ afterMs }) => afterMs);
            const counts = channels.map(({ name, afterMs }) => {
              const newer = own.filter(
                ({ event, arrival, createdAtMs }) =>
                  event.channelId === name && arrival.ms > afterMs && createdAtMs > afterMs,
              );
              return Math.min(max, newer.length);
            });
            expect(await store.events.countNewer({ projectId, channels, max })).toEqual(counts);
            const late = times.map((ms) =>
              own
                .filter(({ arrival, createdAtMs }) => arrival.ms > ms && createdAtMs <= ms)
                .filter(({ arrival, createdAtMs }) => arrival.ms - createdAtMs <= limits.notifyAgeMs)
                .map(({ json }) => json),
            );
            const found = await store.events.lateEvents({ projectId, times });
            expect(found.map((events) => events.toSorted())).toEqual(late.map((events) => events.toSorted()));
            for (const afterMs of times)
              expect(await store.events.arrivedLater({ projectId, afterMs, events: cursors })).toEqual(
                own.map(({ arrival }) => arrival.ms > afterMs),
              );
          },
        ),
        { numRuns: 30 },
      );
    });
  });
}

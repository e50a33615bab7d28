import type { ChannelNames, ProjectChannels } from "../channels/project-channels.ts";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { type CheckedEvent, checkEvent } from "../event/check-event.ts";
import { type ArrivalClock, type ArrivalStamp, eventIdOf } from "../event/id.ts";
import { tokensOf } from "../event/tokens.ts";
import type { WatchedEvents, WatchedEventsCache } from "../rules/watched-events.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import { Turns } from "../scheduling/turns.ts";
import type { AcceptedEvent, AppendCompanion, AppendResult, EventAppender } from "../storage/event-store.ts";
import { commitWorkMax } from "../storage/group-commit.ts";
import { acceptedEvent, type EventSource } from "./accepted-event.ts";
import { type CheckedItem, type ItemOutcome, mergeResults, partsOf, timestampFull } from "./batch-parts.ts";
import type { DailyQuota, DayCount } from "./daily-quota.ts";
import type { Recorded } from "./event-response.ts";

type Deps = {
  events: EventAppender;
  channels: ProjectChannels;
  rules: WatchedEventsCache;
  quota: DailyQuota;
  clock: ArrivalClock;
};

/** What was looked up to record events, and is passed on: the state of the project as of one moment. */
type LookedUp = { watched: WatchedEvents; count: DayCount | null };

/** What is stored of batches at a time: one part is being committed while the next one waits. */
const batchWorkMax = 2 * commitWorkMax;

export type Recorder = ReturnType<typeof createRecorder>;

/** The only way in for events: check, date, store. The store reports them to the live streams. */
export function createRecorder({ events, channels, rules, quota, clock }: Deps) {
  // The store commits in the order of arrival, so what a project may have in its queue is what others wait for.
  const batches = new FairQueue<number>({ capacity: batchWorkMax });

  /** The rules come last: what changes while the quota is read still decides. */
  function lookUp(source: EventSource): LookedUp | Promise<LookedUp> {
    const count = quota.of(source);
    if (count instanceof Promise) return count.then((count) => withRules(source, count));
    return withRules(source, count);
  }

  function withRules({ projectId }: EventSource, count: DayCount | null): LookedUp | Promise<LookedUp> {
    const watched = rules.of(projectId);
    return watched instanceof Promise ? watched.then((watched) => ({ watched, count })) : { watched, count };
  }

  /**
   * Accepts an event, for the caller to pass on to the store.
   *
   * Invariant: commits keep the order of arrivals: nothing is awaited between an event's arrival and its place in the
   * writer's queue. Checked by `server/events/live.test.ts`.
   */
  function accept(
    body: unknown,
    source: EventSource,
    names: ChannelNames,
    { watched }: LookedUp,
  ): AcceptedEvent | ProblemError {
    const arrival = nextArrival();
    if (arrival instanceof ProblemError) return arrival;
    const receivedMs = clock.nowMs;
    const checked = check(body, source, names, receivedMs);
    if (checked instanceof ProblemError) return checked;
    return acceptedEvent(checked, source, arrival, receivedMs, watched);
  }

  /**
   * Checks an event's body.
   *
   * @param channelFaults - messages for channels of other events in the same request
   */
  function check(
    body: unknown,
    source: EventSource,
    names: ChannelNames,
    nowMs: number,
    faultsMax = Infinity,
    channelFaults?: Map<string, string>,
  ): CheckedEvent | ProblemError {
    if (body instanceof ProblemError) return body;
    const checked = checkEvent(body, nowMs);
    if (Array.isArray(checked)) {
      const more = checked.length > 1 ? ` (and ${checked.length - 1} more)` : "";
      return problem("body-invalid", {
        detail: `${checked[0]!.detail}${more}`,
        errors: checked.slice(0, faultsMax),
      });
    }
    const detail = names.rejectionOf(source, checked.channel, channelFaults);
    if (detail === null) return checked;
    return problem("body-invalid", { detail, errors: [{ pointer: "/channel", detail }] });
  }

  function nextArrival(): ArrivalStamp | ProblemError {
    try {
      return clock.next();
    } catch (error) {
      if (error instanceof ProblemError) return error;
      throw error;
    }
  }

  function recordedOf(event: AcceptedEvent, result: AppendResult): Recorded {
    if (result.kind === "timestampFull") throw timestampFull();
    if (result.kind === "duplicate") return { json: result.json, isNew: false };
    return { json: event.json, isNew: true };
  }

  /** Stores events, all of them within their project's quota. Throws `quota-reached`. */
  async function withinQuota<Results extends AppendResult[] | null>(
    source: EventSource,
    { count }: LookedUp,
    accepted: readonly AcceptedEvent[],
    append: () => Promise<Results>,
  ): Promise<Results> {
    const reservation = quota.reserve(count, source, accepted.length);
    if (reservation.events < accepted.length) {
      reservation.release();
      throw quota.exceeded(source);
    }
    return reservation.use(append);
  }

  /** Accepts checked events. Returns the id or the problem of each. */
  function acceptAll(
    items: readonly CheckedItem[],
    source: EventSource,
    { watched }: LookedUp,
    eventsMax = Infinity,
  ) {
    const accepted: AcceptedEvent[] = [];
    const outcomes = items.map((checked): ItemOutcome => {
      if (checked instanceof ProblemError) return checked;
      if (accepted.length >= eventsMax) return quota.exceeded(source);
      const arrival = nextArrival();
      if (arrival instanceof ProblemError) return arrival;
      const event = acceptedEvent(checked.event, source, arrival, clock.nowMs, watched);
      accepted.push({ ...event, tokens: checked.tokens });
      return event.event.id;
    });
    return { accepted, outcomes };
  }

  /** Records a part of a batch. Everything until the store has it happens at once. */
  async function recordPart(
    items: readonly CheckedItem[],
    source: EventSource,
    found: LookedUp,
    onDuplicates: (events: number) => void,
  ): Promise<ItemOutcome[]> {
    const checked = items.filter((item) => !(item instanceof ProblemError)).length;
    const reservation = quota.reserve(found.count, source, checked);
    const { accepted, outcomes } = acceptAll(items, source, found, reservation.events);
    if (accepted.length === 0) {
      reservation.release();
      return outcomes;
    }
    let stored: (AppendResult | Error)[];
    try {
      stored = await reservation.use(() => events.appendAll(accepted));
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return outcomes.map((outcome) => (typeof outcome === "string" ? error : outcome));
    }
    onDuplicates(stored.filter((result) => !(result instanceof Error) && result.kind === "duplicate").length);
    return mergeResults(outcomes, stored);
  }

  /**
   * Records the events that passed the check, as many as the project's quota has left. Returns an outcome for each
   * item, in order. If the store fails, its problem is the outcome.
   *
   * @param onDuplicates - called with the number of accepted events that were stored before
   */
  async function recordAll(
    items: readonly CheckedItem[],
    source: EventSource,
    onDuplicates: (events: number) => void = () => {},
  ): Promise<ItemOutcome[]> {
    const parts = partsOf(items);
    // All at once, so that no later batch of the project comes in between.
    const entered = parts.map((part) => batches.enter(source.projectId, part.work));
    const recorded: Promise<ItemOutcome[]>[] = [];
    try {
      for (const [index, part] of parts.entries()) {
        const leave = await entered[index]!;
        const found = await lookUp(source);
        const recording = recordPart(part.items, source, found, onDuplicates).finally(leave);
        // A failure is thrown below. Until then, it must not count as unhandled.
        recording.catch(() => {});
        recorded.push(recording);
      }
    } finally {
      // After a failure, the parts that are left give up their places.
      for (const place of entered.slice(recorded.length)) void place.then((leave) => leave());
    }
    return (await Promise.all(recorded)).flat();
  }

  return {
    /**
     * Records an event. Resolves once it is durable: after the commit's fsync, never before.
     *
     * Throws `body-invalid`, `quota-reached`, `clock-wrong`, `overloaded`, `storage-full` and `storage-unavailable`.
     */
    async record(body: unknown, source: EventSource): Promise<Recorded> {
      let names = channels.of(source, [body]);
      if (names instanceof Promise) names = await names;
      let found = lookUp(source);
      if (found instanceof Promise) found = await found;
      const event = accept(body, source, names, found);
      if (event instanceof ProblemError) throw event;
      if (found.count === null) return recordedOf(event, await events.append(event));
      const results = await withinQuota(source, found, [event], async () => [await events.append(event)]);
      return recordedOf(event, results[0]!);
    },

    /**
     * The same in one transaction with the event's companion. Returns null, and records nothing, if the companion can
     * no longer be stored: the rejected event is gone, or the key exists already.
     */
    async recordWith(
      body: unknown,
      source: EventSource,
      companionOf: (json: string) => AppendCompanion,
    ): Promise<Recorded | null> {
      const names = await channels.of(source, [body]);
      const found = await lookUp(source);
      const event = accept(body, source, names, found);
      if (event instanceof ProblemError) throw event;
      const append = () => events.appendWith([event], companionOf(event.json));
      const results = await withinQuota(source, found, [event], append);
      return results && recordedOf(event, results[0]!);
    },

    /**
     * Checks events, yielding to other requests, so that recording them takes little time.
     *
     * @param bodies - a problem in place of a body becomes the outcome
     */
    async checkAll(bodies: readonly (unknown | ProblemError)[], source: EventSource): Promise<CheckedItem[]> {
      let names = await channels.of(source, bodies);
      const { projectId } = source;
      const channelFaults = new Map<string, string>();
      const turns = new Turns(projectId);
      const items: CheckedItem[] = [];
      for (const body of bodies) {
        const event = check(body, source, names, clock.read(), limits.itemFaults, channelFaults);
        if (event instanceof ProblemError) items.push(event);
        else items.push({ event, tokens: tokensOf(projectId, { ...event, channelId: event.channel }) });
        if (!turns.isOver) continue;
        await turns.next();
        // The channels may have changed in the meantime.
        names = await channels.of(source, bodies);
      }
      return items;
    },

    recordAll,

    /**
     * The same in one transaction with the events' companion. Returns null, and records nothing, if the companion can no
     * longer be stored. Throws if the store fails, and `quota-reached`.
     */
    async recordAllWith(
      items: readonly CheckedItem[],
      source: EventSource,
      companionOf: (outcomes: ItemOutcome[]) => AppendCompanion,
    ): Promise<ItemOutcome[] | null> {
      const work = partsOf(items).reduce((sum, part) => sum + part.work, 0);
      const leave = await batches.enter(source.projectId, work);
      try {
        const found = await lookUp(source);
        const { accepted, outcomes } = acceptAll(items, source, found);
        if (accepted.length === 0) return outcomes;
        const append = () => events.appendWith(accepted, companionOf(outcomes));
        const stored = await withinQuota(source, found, accepted, append);
        return stored && mergeResults(outcomes, stored);
      } finally {
        leave();
      }
    },

    /**
     * Records events that have ids, all of them within the project's quota, however often it is repeated until all are
     * stored. Throws `quota-reached`, and returns null if it may not begin.
     *
     * @param begin - called once the quota has room for all; null for a repetition, whose first time counted
     */
    async recordAllOnce(
      items: readonly CheckedItem[],
      source: EventSource,
      begin: (() => Promise<boolean>) | null,
    ): Promise<ItemOutcome[] | null> {
      const checked = items.filter((item) => !(item instanceof ProblemError)).length;
      if (checked === 0) return items.map((item) => item as ProblemError);
      const count = await quota.of(source);
      const quotaOf = begin ? source : { ...source, eventsPerDay: Number.POSITIVE_INFINITY };
      const reservation = quota.reserve(count, quotaOf, checked);
      let recorded = 0;
      try {
        if (reservation.events < checked) throw quota.exceeded(source);
        if (begin && !(await begin())) return null;
        let duplicates = 0;
        // The reservation has counted them.
        const outcomes = await recordAll(items, { ...source, eventsPerDay: null }, (events) => {
          duplicates += events;
        });
        recorded = outcomes.filter((outcome) => typeof outcome === "string").length - duplicates;
        return outcomes;
      } finally {
        reservation.settle(recorded);
      }
    },

    /** An id for an event that is stored later. Throws `clock-wrong`. */
    newId(): string {
      return eventIdOf(clock.next());
    },
  };
}

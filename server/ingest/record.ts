import type { ProjectChannels } from "../channels/project-channels.ts";
import { type CheckedEvent, checkEvent } from "../event/check-event.ts";
import type { Event } from "../event/event.ts";
import { type ArrivalClock, type ArrivalStamp, eventIdOf } from "../event/id.ts";
import { tokensOf } from "../event/tokens.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import type { AcceptedEvent, AppendCompanion, AppendResult, EventAppender } from "../storage/store.ts";
import { Turns } from "../turns.ts";

/** What the recorder needs of the rest of the house. */
type Rooms = {
  events: EventAppender;
  channels: ProjectChannels;
  clock: ArrivalClock;
};

/** An event of several that is to be stored, with its tokens, since those of long texts take their time; or why it is rejected. */
export type CheckedItem = { event: CheckedEvent; tokens: string } | ProblemError;

/** Where an event comes from. */
export type EventSource = { projectId: number; knownChannelsOnly: boolean; keyId?: string };

/** The event's JSON as the listing shows it, and whether it was here before. */
export type Recorded = { json: string; isNew: boolean };

/** What became of an item of a batch: its event's id, or the problem for which it is rejected. */
export type ItemOutcome = string | ProblemError;

export type Recorder = ReturnType<typeof createRecorder>;

/** Makes the one way in for events: check, date, store. The store tells the live streams of them. */
export function createRecorder({ events, channels, clock }: Rooms) {
  /** An event that is to be handed to the store before anything else is: commits keep the order of arrival. */
  function accept(body: unknown, sender: EventSource): AcceptedEvent | ProblemError {
    const arrival = nextArrival();
    if (arrival instanceof ProblemError) return arrival;
    const receivedMs = clock.nowMs;
    const checked = check(body, sender, receivedMs);
    if (checked instanceof ProblemError) return checked;
    return acceptedEvent(checked, sender.projectId, arrival, receivedMs);
  }

  /**
   * Checks an event's body, for a project whose channels are prepared.
   *
   * @param told - what was said of channels of other events in the same request
   */
  function check(
    body: unknown,
    sender: EventSource,
    nowMs: number,
    faultsMax = Infinity,
    told?: Map<string, string>,
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
    const detail = channels.rejectionOf(sender, checked.channel, told);
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

  function settled(event: AcceptedEvent, verdict: AppendResult): Recorded {
    if (verdict.kind === "timestampFull") throw timestampFull();
    if (verdict.kind === "duplicate") return { json: verdict.json, isNew: false };
    return { json: event.json, isNew: true };
  }

  /** Accepts what was checked, and gives the id or the problem of each. */
  function acceptAll(items: readonly CheckedItem[], { projectId }: EventSource) {
    const accepted: AcceptedEvent[] = [];
    const verdicts = items.map((checked): ItemOutcome => {
      if (checked instanceof ProblemError) return checked;
      const arrival = nextArrival();
      if (arrival instanceof ProblemError) return arrival;
      const event = acceptedEvent(checked.event, projectId, arrival, clock.nowMs);
      accepted.push({ ...event, tokens: checked.tokens });
      return event.event.id;
    });
    return { accepted, verdicts };
  }

  return {
    /**
     * Records an event. The promise resolves once the event is durable: after the commit's fsync, never before.
     *
     * It throws the problems `body-invalid`, `clock-wrong`, `overloaded`, `storage-full` and `storage-unavailable`.
     */
    async record(body: unknown, sender: EventSource): Promise<Recorded> {
      const preparing = channels.prepare(sender, [body]);
      if (preparing) await preparing;
      const event = accept(body, sender);
      if (event instanceof ProblemError) throw event;
      return settled(event, await events.append(event));
    },

    /**
     * The same in one transaction with what is tied to the event; null, and nothing is recorded, where that can't be done any more:
     * the rejected event is gone, or the key is there already.
     */
    async recordWith(
      body: unknown,
      sender: EventSource,
      tie: (json: string) => AppendCompanion,
    ): Promise<Recorded | null> {
      await channels.prepare(sender, [body]);
      const event = accept(body, sender);
      if (event instanceof ProblemError) throw event;
      const verdicts = await events.appendWith([event], tie(event.json));
      return verdicts && settled(event, verdicts[0]!);
    },

    /**
     * Checks events, with turns for others in between, so that recording them takes little time.
     *
     * @param bodies - a problem in an event's place is what comes of it
     */
    async checkAll(bodies: readonly (unknown | ProblemError)[], sender: EventSource): Promise<CheckedItem[]> {
      await channels.prepare(sender, bodies);
      const { projectId } = sender;
      const told = new Map<string, string>();
      const turns = new Turns();
      const items: CheckedItem[] = [];
      for (const body of bodies) {
        const event = check(body, sender, clock.read(), limits.itemFaults, told);
        if (event instanceof ProblemError) items.push(event);
        else items.push({ event, tokens: tokensOf(projectId, { ...event, channelId: event.channel }) });
        if (!turns.isOver) continue;
        await turns.next();
        // Meanwhile they may have changed.
        await channels.prepare(sender, bodies);
      }
      return items;
    },

    /** Records the good ones of some events, and gives a verdict for each, in order. Where the store does not take them, that is their verdict. */
    async recordAll(items: readonly CheckedItem[], sender: EventSource): Promise<ItemOutcome[]> {
      const { accepted, verdicts } = acceptAll(items, sender);
      if (accepted.length === 0) return verdicts;
      let stored: (AppendResult | Error)[];
      try {
        stored = await events.appendAll(accepted);
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        return verdicts.map((verdict) => (typeof verdict === "string" ? error : verdict));
      }
      return settledAll(verdicts, stored);
    },

    /** The same in one transaction with what is tied to them; null as above. Where the store does not take them, it throws. */
    async recordAllWith(
      items: readonly CheckedItem[],
      sender: EventSource,
      tie: (verdicts: ItemOutcome[]) => AppendCompanion,
    ): Promise<ItemOutcome[] | null> {
      const { accepted, verdicts } = acceptAll(items, sender);
      if (accepted.length === 0) return verdicts;
      const stored = await events.appendWith(accepted, tie(verdicts));
      return stored && settledAll(verdicts, stored);
    },
  };
}

/** Puts what the store says of events into the places of those that were accepted. */
function settledAll(verdicts: ItemOutcome[], stored: (AppendResult | Error)[]): ItemOutcome[] {
  let next = 0;
  return verdicts.map((verdict) => {
    if (typeof verdict !== "string") return verdict;
    const outcome = stored[next++]!;
    if (outcome instanceof ProblemError) return outcome;
    if (outcome instanceof Error) throw outcome;
    return outcome.kind === "timestampFull" ? timestampFull() : verdict;
  });
}

/** Why an event is rejected for which there is no place. */
export function timestampFull(): ProblemError {
  const detail = 'A million events already have this "createdAt". Change it by a millisecond.';
  return problem("body-invalid", { detail, errors: [{ pointer: "/createdAt", detail }] });
}

function acceptedEvent(
  checked: CheckedEvent,
  projectId: number,
  arrival: AcceptedEvent["arrival"],
  receivedMs: number,
): AcceptedEvent {
  const createdAtMs = checked.createdAtMs ?? receivedMs;
  // The members in the order of the wire's `Event`; `storage/` relies on the id first and the moment last.
  const event: Event = {
    id: checked.id ?? eventIdOf(arrival),
    name: checked.name,
    channelId: checked.channel,
    userId: checked.userId,
    icon: checked.icon,
    notify: checked.notify,
    tags: checked.tags,
    event: checked.event,
    description: checked.description,
    createdAt: isoOf(createdAtMs),
  };
  return {
    projectId,
    event,
    json: JSON.stringify(event),
    hasClientId: checked.id !== undefined,
    createdAtMs,
    hasClientTimestamp: checked.createdAtMs !== undefined || receivedMs !== arrival.ms,
    arrival,
    receivedMs,
    notifies: checked.notify && receivedMs - createdAtMs <= limits.notifyAgeMs,
  };
}

let lastMs = -1;
let lastIso = "";

/** ISO 8601 in UTC with milliseconds; events of the same millisecond share the text. */
function isoOf(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastIso = new Date(ms).toISOString();
  }
  return lastIso;
}

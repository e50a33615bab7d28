import type { Event } from "../event/event.ts";
import { eventIdOf } from "../event/id.ts";
import type { RuleNotification } from "../rules/rule-kind.ts";
import { afterDowntime, dueAt, onMatch, onTime, type RuleState, startState } from "../rules/rule-state.ts";
import type { RuleWhen } from "../schemas/rule.ts";

/** 10:00 in Berlin. */
export const startMs = Date.parse("2026-03-27T09:00:00Z");

/** A rule that runs. Each call reads the state from JSON, as after a restart. */
export class RunningRule {
  readonly when: RuleWhen;
  state: RuleState;
  readonly notifications: RuleNotification[] = [];

  constructor(when: RuleWhen, fromMs = startMs) {
    this.when = when;
    this.state = startState(this, fromMs);
  }

  get dueAtMs(): number | null {
    return dueAt(this, this.state);
  }

  match(receivedMs: number, event = eventAt(receivedMs)): RuleNotification[] {
    return this.#take(onMatch(this, this.#restarted(), event, receivedMs));
  }

  pass(nowMs: number): RuleNotification[] {
    return this.#take(onTime(this, this.#restarted(), nowMs));
  }

  /** The server starts again after it was down. */
  startAgain(nowMs: number): void {
    this.state = afterDowntime(this, this.#restarted(), nowMs);
  }

  #restarted(): RuleState {
    return JSON.parse(JSON.stringify(this.state));
  }

  #take({ state, notifications }: ReturnType<typeof onTime>): RuleNotification[] {
    this.state = state;
    this.notifications.push(...notifications);
    return notifications;
  }
}

let events = 0;

export function eventAt(createdAtMs: number, fields: Partial<Event> = {}): Event {
  return {
    id: eventIdOf({ ms: createdAtMs, sequence: events++ % 1_000 }),
    name: "Payment received",
    channelId: "payments",
    userId: "",
    notify: false,
    tags: {},
    createdAt: new Date(createdAtMs).toISOString(),
    ...fields,
  };
}

export async function* asyncIterable<Item>(items: Item[]): AsyncGenerator<Item> {
  yield* items;
}

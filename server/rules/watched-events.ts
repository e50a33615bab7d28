import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import { RecentReads } from "../core/recent-reads.ts";
import { type Event, isBackdated } from "../event/event.ts";
import type { RuleWhen } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { searchOfPeople } from "../storage/people.ts";
import { ruleMatcher } from "./rule-matcher.ts";
import { flagSearch } from "./rules.ts";

const projectsMax = 1_000;

type Watch = { isMatch: (event: Event) => boolean; takesBackdated: boolean };
/** Channels of which some member wants all events; '' stands for the whole project. */
type Followed = ReadonlySet<string>;

/** What of a project's rules and members' levels decides whether an event goes through the outbox. */
export class WatchedEvents {
  readonly #watches: readonly Watch[];
  readonly #followed: Followed;
  readonly #takeFollowed: (receivedMs: number) => boolean;

  constructor(watches: readonly Watch[], followed: Followed, takeFollowed: (receivedMs: number) => boolean) {
    this.#watches = watches;
    this.#followed = followed;
    this.#takeFollowed = takeFollowed;
  }

  /** Whether a project rule may match the event, or has to know of it. */
  concern(event: Event, createdAtMs: number, receivedMs: number): boolean {
    const backdated = isBackdated(createdAtMs, receivedMs);
    if (this.#watches.some(({ isMatch, takesBackdated }) => (!backdated || takesBackdated) && isMatch(event)))
      return true;
    const followed = this.#followed;
    if (backdated || followed.size === 0) return false;
    return (followed.has("") || followed.has(event.channelId)) && this.#takeFollowed(receivedMs);
  }
}

/**
 * Caches projects' rules, to decide which events go through the outbox: those that some rule may match, and a few a
 * second of those wanted only by members subscribed to everything.
 */
export class WatchedEventsCache {
  readonly #control: Kysely<ControlTables>;
  readonly #watched: RecentReads<number, WatchedEvents>;
  /** Events of the current second that only go to members who want all, by project. */
  readonly #followedEvents = new LRUCache<number, { second: number; count: number }>({ max: projectsMax });

  constructor(control: Kysely<ControlTables>, now: () => number = Date.now) {
    this.#control = control;
    this.#watched = new RecentReads({ read: (projectId) => this.#read(projectId), max: projectsMax, now });
  }

  /** What decides about a project's events: at once, unless it has to be read. */
  of(projectId: number): WatchedEvents | Promise<WatchedEvents> {
    return this.#watched.get(projectId);
  }

  /** Makes a change of a project's rules or levels effective at once. */
  invalidate(projectId: number): void {
    this.#watched.invalidate(projectId);
  }

  async #read(projectId: number): Promise<WatchedEvents> {
    const [watches, followed] = await Promise.all([this.#watchesOf(projectId), this.#followedOf(projectId)]);
    return new WatchedEvents(watches, followed, (receivedMs) => this.#takeFollowed(projectId, receivedMs));
  }

  /** A member's choice must not delay what rules alert on, so only so many events a second are taken for it. */
  #takeFollowed(projectId: number, receivedMs: number): boolean {
    const second = Math.floor(receivedMs / 1_000);
    const current = this.#followedEvents.get(projectId);
    if (current?.second !== second) {
      this.#followedEvents.set(projectId, { second, count: 1 });
      return true;
    }
    current.count++;
    return current.count <= limits.followedEventsPerSecond;
  }

  async #watchesOf(projectId: number): Promise<Watch[]> {
    const rules = await this.#control
      .selectFrom("rules")
      .select(["q", "condition", "resolveQ"])
      .where("projectId", "=", projectId)
      .where("enabled", "=", 1)
      .execute();
    const expand = (q: string) => searchOfPeople(this.#control, projectId, q);
    const searches = await Promise.all(
      rules.map(async ({ q, condition, resolveQ }) => ({
        q: await expand(q),
        resolveQ: resolveQ === null ? null : await expand(resolveQ),
        condition,
      })),
    );
    return searches.flatMap(({ q, condition, resolveQ }): Watch[] => {
      const { type } = JSON.parse(condition) as RuleWhen;
      const watch = {
        // The rule that every project begins with. Nothing is faster to check.
        isMatch: q === flagSearch ? ({ notify }: Event) => notify : ruleMatcher({ q }),
        // A silence decides by its own window which events are too old.
        takesBackdated: type === "silence",
      };
      // A metric is read when it is due, so its events need not wait for it.
      const watches = type === "metric" ? [] : [watch];
      if (resolveQ === null) return watches;
      return [...watches, { isMatch: ruleMatcher({ q: resolveQ }), takesBackdated: false }];
    });
  }

  async #followedOf(projectId: number): Promise<Followed> {
    const rows = await this.#control
      .selectFrom("notificationLevels")
      .select("channel")
      .distinct()
      .where("projectId", "=", projectId)
      .where("level", "=", "all")
      .execute();
    return new Set(rows.map(({ channel }) => channel));
  }
}

import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import { type Event, isBackdated } from "../event/event.ts";
import { limits } from "../limits.ts";
import { flagSearch } from "../projects/rules.ts";
import { ruleMatcher } from "../rules/rule-matcher.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { RuleWhen } from "../wire/rule.ts";

/** From this age on, rules are reloaded in the background, so that events of a busy project never wait. */
const refreshAgeMs = 500;
/** How long cached rules are valid. A command or another node may change them. */
const maxAgeMs = 1_000;
const projectsMax = 1_000;

type Watch = { isMatch: (event: Event) => boolean; takesBackdated: boolean };
/** Channels of which some member wants all events; '' stands for the whole project. */
type Followed = ReadonlySet<string>;
type Entry = { watches: Watch[]; followed: Followed; readAtMs: number };

/**
 * Caches projects' rules, to decide which events go through the outbox: those that some rule may notify of, and a few a
 * second of those that only members want who want all.
 */
export class ProjectRules {
  readonly #control: Kysely<ControlTables>;
  readonly #now: () => number;
  readonly #entries = new LRUCache<number, Entry>({ max: projectsMax });
  /** Events of one project share one query. */
  readonly #reads = new Map<number, Promise<void>>();
  /** Events of the current second that only go to members who want all, by project. */
  readonly #followedEvents = new LRUCache<number, { second: number; count: number }>({ max: projectsMax });
  /** Number of changes. Rules read before the last one are not cached. */
  #changes = 0;

  constructor(control: Kysely<ControlTables>, now: () => number = Date.now) {
    this.#control = control;
    this.#now = now;
  }

  /** Must be called, and its promise awaited if there is one, before `concerns`. */
  prepare(projectId: number): Promise<void> | undefined {
    const entry = this.#entries.get(projectId);
    const ageMs = entry ? this.#now() - entry.readAtMs : Infinity;
    if (ageMs < refreshAgeMs) return undefined;
    const read = this.#read(projectId);
    if (ageMs >= maxAgeMs) return read;
    // If this query fails, the next event that has to wait for one gets the error.
    read.catch(() => {});
    return undefined;
  }

  /** Whether a rule of the project may notify of the event, or has to know of it. */
  concerns(projectId: number, event: Event, createdAtMs: number, receivedMs: number): boolean {
    const backdated = isBackdated(createdAtMs, receivedMs);
    const entry = this.#entries.get(projectId);
    if (!entry) return false;
    const { watches, followed } = entry;
    if (watches.some(({ isMatch, takesBackdated }) => (!backdated || takesBackdated) && isMatch(event)))
      return true;
    if (backdated || followed.size === 0) return false;
    return (followed.has("") || followed.has(event.channelId)) && this.#takeFollowed(projectId, receivedMs);
  }

  /** A member's choice must not delay what rules notify of, so only so many events a second are taken for it. */
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

  /** Makes a change of a project's rules or levels effective at once. */
  invalidate(projectId: number): void {
    this.#changes++;
    this.#entries.delete(projectId);
    this.#reads.delete(projectId);
  }

  #read(projectId: number): Promise<void> {
    const pending = this.#reads.get(projectId);
    if (pending) return pending;
    const changes = this.#changes;
    const readAtMs = this.#now();
    const read = Promise.all([this.#watchesOf(projectId), this.#followedOf(projectId)])
      .then(([watches, followed]) => {
        if (changes === this.#changes) this.#entries.set(projectId, { watches, followed, readAtMs });
        else if (!this.#entries.has(projectId)) return this.#read(projectId);
        return undefined;
      })
      .finally(() => {
        if (this.#reads.get(projectId) === read) this.#reads.delete(projectId);
      });
    this.#reads.set(projectId, read);
    return read;
  }

  async #watchesOf(projectId: number): Promise<Watch[]> {
    const rules = await this.#control
      .selectFrom("rules")
      .select(["q", "condition"])
      .where("projectId", "=", projectId)
      .where("enabled", "=", 1)
      .execute();
    return rules.map(({ q, condition }) => ({
      // The rule that every project begins with. Nothing is faster to check.
      isMatch: q === flagSearch ? ({ notify }) => notify : ruleMatcher({ q }),
      // A silence decides by its own window which events are too old.
      takesBackdated: (JSON.parse(condition) as RuleWhen).type === "silence",
    }));
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

import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Listener, LiveStreams } from "./live.ts";

/** How often those who have a stream open are looked up: their key or session may end elsewhere, on another node too. */
const lookMs = 1_000;

/** Ends the live streams of those who may listen no longer: a revoked key, a session that is over, a member who is none any more. */
export class StreamAuthorizer {
  readonly #control: Kysely<ControlTables>;
  readonly #live: LiveStreams;
  readonly #looking: Timer;
  #isLooking = false;
  #failed = false;

  constructor(control: Kysely<ControlTables>, live: LiveStreams, onError: (error: unknown) => void) {
    this.#control = control;
    this.#live = live;
    this.#looking = setInterval(async () => {
      if (this.#isLooking) return;
      this.#isLooking = true;
      try {
        await this.look();
        this.#failed = false;
      } catch (error) {
        // Told once for as long as it lasts; the next look makes good what this one missed.
        if (!this.#failed) onError(error);
        this.#failed = true;
      }
      this.#isLooking = false;
    }, lookMs);
    this.#looking.unref();
  }

  /** Looks at once, such as after somebody signed out. */
  async look(): Promise<void> {
    const listeners = this.#live.listeners();
    const keyIds = distinct(listeners, ({ keyId }) => keyId);
    const sessionIds = distinct(listeners, ({ sessionId }) => sessionId);
    const [keys, members] = await Promise.all([this.#keys(keyIds), this.#members(sessionIds)]);
    const asked = new Set([...keyIds, ...sessionIds]);
    this.#live.disconnect(({ projectId, keyId, sessionId }) => {
      if (keyId !== undefined) return asked.has(keyId) && !keys.has(keyId);
      return sessionId !== undefined && asked.has(sessionId) && !members.has(`${sessionId} ${projectId}`);
    });
  }

  close(): void {
    clearInterval(this.#looking);
  }

  /** Those of some keys that are good. */
  async #keys(ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#control
      .selectFrom("keys")
      .select("id")
      .where("id", "in", ids)
      .where("revokedAt", "is", null)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** The sessions among some that are not over, each with the projects of its account. */
  async #members(ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#control
      .selectFrom("sessions")
      .innerJoin("members", "members.accountId", "sessions.userId")
      .select(["sessions.id", "members.projectId"])
      .where("sessions.id", "in", ids)
      .where("sessions.expiresAt", ">", new Date().toISOString())
      .execute();
    return new Set(rows.map(({ id, projectId }) => `${id} ${projectId}`));
  }
}

function distinct(listeners: Listener[], idOf: (listener: Listener) => string | undefined): string[] {
  const ids = new Set<string>();
  for (const listener of listeners) {
    const id = idOf(listener);
    if (id !== undefined) ids.add(id);
  }
  return [...ids];
}

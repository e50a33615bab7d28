import type { Kysely } from "kysely";
import { scopesOf } from "../auth/keys.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { LiveStreams } from "./live.ts";
import type { Listener } from "./stream-client.ts";

/** How often the listeners' keys and sessions are checked. They may end elsewhere, for example on another node. */
const checkEveryMs = 1_000;

/**
 * Ends the live streams of those who may no longer read.
 *
 * Invariant: a live stream ends within a second once its key, session or membership has ended, on any node. Checked by
 * `server/e2e/nodes.test.ts`.
 */
export class StreamAuthorizer {
  readonly #control: Kysely<ControlTables>;
  readonly #streams: LiveStreams;
  readonly #timer: Timer;
  #isChecking = false;
  #failed = false;

  constructor(control: Kysely<ControlTables>, streams: LiveStreams, onError: (error: unknown) => void) {
    this.#control = control;
    this.#streams = streams;
    this.#timer = setInterval(async () => {
      if (this.#isChecking) return;
      this.#isChecking = true;
      try {
        await this.check();
        this.#failed = false;
      } catch (error) {
        // Reported once per outage. The next check makes up for this one.
        if (!this.#failed) onError(error);
        this.#failed = true;
      }
      this.#isChecking = false;
    }, checkEveryMs);
    this.#timer.unref();
  }

  /** Checks at once, for example after a sign-out. */
  async check(): Promise<void> {
    const listeners = this.#streams.listeners();
    const keyIds = distinct(listeners, ({ keyId }) => keyId);
    const sessionIds = distinct(listeners, ({ sessionId }) => sessionId);
    const [keys, members] = await Promise.all([this.#keys(keyIds), this.#members(sessionIds)]);
    const checked = new Set([...keyIds, ...sessionIds]);
    this.#streams.disconnect(({ projectId, keyId, sessionId }) => {
      if (keyId !== undefined) return checked.has(keyId) && !keys.has(keyId);
      return sessionId !== undefined && checked.has(sessionId) && !members.has(`${sessionId} ${projectId}`);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The keys among `ids` that are valid and may read. */
  async #keys(ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#control
      .selectFrom("keys")
      .select(["id", "scopes"])
      .where("id", "in", ids)
      .where("revokedAt", "is", null)
      .where((eb) => eb.or([eb("expiresAt", "is", null), eb("expiresAt", ">", Date.now())]))
      .execute();
    return new Set(rows.filter((row) => scopesOf(row).includes("read")).map(({ id }) => id));
  }

  /** The valid sessions among `ids`, each with the projects of its account. */
  async #members(ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#control
      .selectFrom("sessions")
      .innerJoin("accounts", (join) =>
        join
          .onRef("accounts.id", "=", "sessions.userId")
          .onRef("accounts.credentialEpoch", "=", "sessions.credentialEpoch"),
      )
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

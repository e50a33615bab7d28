import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { countUnread, newestId, notificationsAfter } from "./inbox.ts";
import type { RecentEvents } from "./recent-events.ts";

type Control = Kysely<ControlTables>;

/** The live streams of signed-in accounts. */
export type AccountStreams = {
  accounts: () => Set<string>;
  sendToAccount: (accountId: string, type: string, message: unknown) => void;
};

/** Open dashboards are updated at most this often, so that the cost doesn't grow with the number of notifications. */
const sendEveryMs = 250;
/** Maximum number of notifications of an account in one update. The unread count covers the others. */
const newestMax = 10;

/** Sends new notifications to the open dashboards of members. */
export class LiveNotifications {
  readonly #control: Control;
  readonly #events: Pick<RecentEvents, "find">;
  readonly #streams: AccountStreams;
  readonly #onError: (error: unknown) => void;
  /** The last notification that was looked at. */
  #lastId: number | null = null;
  #mayHaveMore = false;
  #sending: Promise<void> | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(
    control: Control,
    events: Pick<RecentEvents, "find">,
    streams: AccountStreams,
    onError: (error: unknown) => void,
  ) {
    this.#control = control;
    this.#events = events;
    this.#streams = streams;
    this.#onError = onError;
  }

  /** Begins after the notifications that there are. */
  async start(): Promise<void> {
    this.#lastId = await newestId(this.#control);
  }

  /** Sends what was stored since the last time. */
  wake(): void {
    if (this.#closed) return;
    this.#mayHaveMore = true;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#mayHaveMore && !this.#closed) {
      await Bun.sleep(Math.max(0, this.#sentAtMs + sendEveryMs - performance.now()));
      this.#mayHaveMore = false;
      await this.#send().catch(this.#onError);
      this.#sentAtMs = performance.now();
    }
  }

  async #send(): Promise<void> {
    const after = this.#lastId;
    const last = await newestId(this.#control);
    if (after === null || last <= after) {
      this.#lastId = Math.max(after ?? last, last);
      return;
    }
    for (const accountId of this.#streams.accounts()) {
      const inbox = { control: this.#control, events: this.#events, accountId };
      const notifications = await notificationsAfter(inbox, { after, upTo: last, limit: newestMax });
      if (notifications.length === 0) continue;
      const unread = await countUnread(this.#control, accountId);
      for (const notification of notifications) {
        this.#streams.sendToAccount(accountId, "notification", { notification, unread });
      }
    }
    this.#lastId = last;
  }
}

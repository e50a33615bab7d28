import type { Kysely } from "kysely";
import { WorkLoop } from "../scheduling/work-loop.ts";
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
export class LiveNotifications extends WorkLoop {
  readonly #control: Control;
  readonly #events: Pick<RecentEvents, "find">;
  readonly #streams: AccountStreams;
  /** The last notification that was looked at. */
  #lastId: number | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    control: Control,
    events: Pick<RecentEvents, "find">,
    streams: AccountStreams,
    onError: (error: unknown) => void,
  ) {
    super({ onError });
    this.#control = control;
    this.#events = events;
    this.#streams = streams;
  }

  /** Begins after the notifications that there are. */
  async start(): Promise<void> {
    this.#lastId = await newestId(this.#control);
  }

  /** Sends what was stored since the last time. */
  protected async work(): Promise<void> {
    await this.rest(this.#sentAtMs + sendEveryMs - performance.now());
    this.restart();
    await this.#send();
    this.#sentAtMs = performance.now();
  }

  protected waitMs(): number {
    return Number.POSITIVE_INFINITY;
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

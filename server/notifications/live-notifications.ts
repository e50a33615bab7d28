import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival } from "../storage/store.ts";
import type { Notification } from "../wire/notification.ts";
import { countUnread } from "./inbox.ts";

type Control = Kysely<ControlTables>;

/** The live streams of signed-in accounts. */
type AccountStreams = {
  accounts: () => Set<string>;
  sendToAccount: (accountId: string, type: string, message: unknown) => void;
};

/** Open dashboards are updated at most this often, so that the cost doesn't grow with the number of notifications. */
const sendEveryMs = 250;
/** Maximum number of notifications of a project in one update. The unread count covers the others. */
const newestMax = 10;

/** Sends new notifications to the open dashboards of members. */
export class LiveNotifications {
  readonly #control: Control;
  readonly #streams: AccountStreams;
  readonly #onError: (error: unknown) => void;
  /** Events that notified and have not been sent yet: the newest of each project. */
  #waiting = new Map<number, Arrival[]>();
  #sending: Promise<void> | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(control: Control, streams: AccountStreams, onError: (error: unknown) => void) {
    this.#control = control;
    this.#streams = streams;
    this.#onError = onError;
  }

  /** Adds an event whose deliveries were stored. */
  add(event: Arrival): void {
    if (this.#closed) return;
    const events = this.#waiting.get(event.projectId);
    if (!events) this.#waiting.set(event.projectId, [event]);
    else {
      if (events.length >= newestMax) events.shift();
      events.push(event);
    }
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#closed) {
      await Bun.sleep(Math.max(0, this.#sentAtMs + sendEveryMs - performance.now()));
      const waiting = this.#waiting;
      this.#waiting = new Map();
      await this.#send(waiting).catch(this.#onError);
      this.#sentAtMs = performance.now();
    }
  }

  async #send(waiting: Map<number, Arrival[]>): Promise<void> {
    const accounts = this.#streams.accounts();
    if (accounts.size === 0) return;
    const byAccount = new Map<string, Notification[]>();
    for (const [projectId, events] of waiting) {
      for (const { accountId, notification } of await this.#notificationsOf(projectId, events)) {
        if (!accounts.has(accountId)) continue;
        byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), notification]);
      }
    }
    for (const [accountId, notifications] of byAccount) {
      const unread = await countUnread(this.#control, accountId);
      for (const notification of notifications) {
        this.#streams.sendToAccount(accountId, "notification", { notification, unread });
      }
    }
  }

  async #notificationsOf(
    projectId: number,
    events: Arrival[],
  ): Promise<{ accountId: string; notification: Notification }[]> {
    const byId = new Map(events.map(({ event }) => [event.id, event]));
    const rows = await this.#control
      .selectFrom("deliveries")
      .innerJoin("projects", "projects.id", "deliveries.projectId")
      // Not to somebody who was a member when the event was stored.
      .innerJoin("members", (join) =>
        join
          .onRef("members.projectId", "=", "deliveries.projectId")
          .onRef("members.accountId", "=", "deliveries.accountId"),
      )
      .select(["deliveries.id", "deliveries.accountId", "deliveries.eventId", "projects.slug"])
      .where("deliveries.eventId", "in", [...byId.keys()])
      .where("deliveries.projectId", "=", projectId)
      .where("deliveries.kind", "=", "dashboard")
      .orderBy("deliveries.id")
      .execute();
    return rows.map(({ id, accountId, eventId, slug }) => ({
      accountId: accountId!,
      notification: { id: String(id), project: slug, event: byId.get(eventId!)!, readAt: null },
    }));
  }
}

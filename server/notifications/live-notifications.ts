import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival } from "../storage/store.ts";
import type { Notification } from "../wire/notification.ts";
import { countUnread } from "./inbox.ts";

type Control = Kysely<ControlTables>;

/** The live streams that people have open. */
type AccountStreams = {
  accounts: () => Set<string>;
  tellAccount: (accountId: string, type: string, message: unknown) => void;
};

/** Open dashboards are told this often at most, so that what a flood of notifications costs does not grow with it. */
const everyMs = 250;
/** Most notifications of a project that dashboards are told of at a time, the newest; the unread count tells of the others. */
const newestMax = 10;

/** Tells the members who have the dashboard open of their notifications. */
export class LiveNotifications {
  readonly #control: Control;
  readonly #streams: AccountStreams;
  readonly #onError: (error: unknown) => void;
  /** Events that notified and were not told of yet, the newest of each project. */
  #waiting = new Map<number, Arrival[]>();
  #telling: Promise<void> | null = null;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(control: Control, streams: AccountStreams, onError: (error: unknown) => void) {
    this.#control = control;
    this.#streams = streams;
    this.#onError = onError;
  }

  /** Takes an event whose deliveries were stored. */
  add(event: Arrival): void {
    if (this.#closed) return;
    const events = this.#waiting.get(event.projectId);
    if (!events) this.#waiting.set(event.projectId, [event]);
    else {
      if (events.length >= newestMax) events.shift();
      events.push(event);
    }
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = null;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#telling;
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#closed) {
      await Bun.sleep(Math.max(0, this.#toldAtMs + everyMs - performance.now()));
      const waiting = this.#waiting;
      this.#waiting = new Map();
      await this.#tell(waiting).catch(this.#onError);
      this.#toldAtMs = performance.now();
    }
  }

  async #tell(waiting: Map<number, Arrival[]>): Promise<void> {
    const accounts = this.#streams.accounts();
    if (accounts.size === 0) return;
    const told = new Map<string, Notification[]>();
    for (const [projectId, events] of waiting) {
      for (const { accountId, notification } of await this.#notificationsOf(projectId, events)) {
        if (!accounts.has(accountId)) continue;
        told.set(accountId, [...(told.get(accountId) ?? []), notification]);
      }
    }
    for (const [accountId, notifications] of told) {
      const unread = await countUnread(this.#control, accountId);
      for (const notification of notifications) {
        this.#streams.tellAccount(accountId, "notification", { notification, unread });
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
      .select(["deliveries.id", "deliveries.accountId", "deliveries.eventId", "projects.slug"])
      .where("deliveries.eventId", "in", [...byId.keys()])
      .where("deliveries.projectId", "=", projectId)
      .where("deliveries.kind", "=", "dashboard")
      .orderBy("deliveries.id")
      .execute();
    return rows.map(({ id, accountId, eventId, slug }) => ({
      accountId,
      notification: { id: String(id), project: slug, event: byId.get(eventId)!, readAt: null },
    }));
  }
}

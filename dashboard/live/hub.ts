import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/schemas/notification.ts";
import type { SeenMessage } from "../../server/schemas/view.ts";
import { matcherOfDeleted } from "./deleted.ts";
import { createStream, type Stream, type StreamStatus } from "./stream.ts";

/** A tab's position in a project's log. It receives everything after that again. */
export type LogPosition = { log: string; seq: number };

export type FromTab =
  /** Sent on joining and then regularly, because a tab that falls silent has crashed. */
  { type: "here"; project: string; position: LogPosition | null } | { type: "away" } | { type: "retry" };

export type ToTab =
  | { type: "status"; status: StreamStatus }
  /** Every event from here on is sent; what happened before has to be loaded. */
  | { type: "fresh"; position: LogPosition }
  | { type: "events"; events: Event[]; position: LogPosition }
  /** Events sent afterwards don't include these. */
  | { type: "deleted"; deleted: DeletedEvents[] }
  | { type: "notifications"; notifications: Notification[]; unread: number }
  | { type: "seen"; seen: SeenMessage }
  | { type: "notifications-read"; unread: number }
  /** Too much was missed. */
  | { type: "reset"; position: LogPosition }
  | { type: "rejected" };

export const pingMs = 15_000;
const silenceTimeoutMs = 60_000;
const logEventsMax = 5_000;
const logDeletionsMax = 1_000;

type Tab = { post(message: ToTab): void; room: Room | null; lastSeenAtMs: number };

/**
 * The log for returning tabs: events, null for those deleted since, and deletions, each with the number of events
 * before it.
 */
type Log = {
  id: string;
  events: (Event | null)[];
  deletions: { seq: number; deleted: DeletedEvents }[];
  end: number;
};

/** A project's stream, the tabs that follow it, and its recent events for returning tabs. */
type Room = {
  project: string;
  stream: Stream;
  tabs: Set<Tab>;
  status: StreamStatus;
  isReady: boolean;
  log: Log;
};

/**
 * Shares streams among tabs. A stream is open while a tab follows it. Runs in a shared worker for all tabs of a browser,
 * or in a page for that page only.
 *
 * Invariant: the tabs of a browser share one event stream for each project, since six streams use up the connections of
 * HTTP/1.1. Without shared workers, each tab has its own and closes it while hidden. Checked by
 * `server/e2e/pages-tabs.test.ts`.
 */
export function createHub() {
  const rooms = new Map<string, Room>();
  const tabs = new Set<Tab>();
  let logs = 0;

  const newLog = (): Log => ({ id: `${Date.now()}.${logs++}`, events: [], deletions: [], end: 0 });
  const positionIn = ({ log }: Room): LogPosition => ({ log: log.id, seq: log.end });

  function roomOf(project: string): Room {
    const known = rooms.get(project);
    if (known) return known;
    const broadcast = (message: ToTab) => {
      for (const tab of room.tabs) tab.post(message);
    };
    const stream = createStream(project, {
      status(status) {
        room.status = status;
        broadcast({ type: "status", status });
      },
      ready(isFirst) {
        room.isReady = true;
        if (isFirst) broadcast({ type: "fresh", position: positionIn(room) });
      },
      events(events) {
        const { log } = room;
        log.end += events.length;
        log.events.push(...events);
        if (log.events.length > 2 * logEventsMax) log.events.splice(0, log.events.length - logEventsMax);
        broadcast({ type: "events", events, position: positionIn(room) });
      },
      deleted(deleted) {
        const { log } = room;
        const isDeleted = matcherOfDeleted(deleted);
        log.events = log.events.map((event) => (event && isDeleted(event) ? null : event));
        for (const each of deleted) log.deletions.push({ seq: log.end, deleted: each });
        log.deletions.splice(0, log.deletions.length - logDeletionsMax);
        broadcast({ type: "deleted", deleted });
      },
      notifications: (notifications, unread) => broadcast({ type: "notifications", notifications, unread }),
      seen: (seen) => broadcast({ type: "seen", seen }),
      notificationsRead: (unread) => broadcast({ type: "notifications-read", unread }),
      reset() {
        room.log = newLog();
        broadcast({ type: "reset", position: positionIn(room) });
      },
      rejected: () => broadcast({ type: "rejected" }),
    });
    const room: Room = {
      project,
      stream,
      tabs: new Set(),
      status: "connecting",
      isReady: false,
      log: newLog(),
    };
    rooms.set(project, room);
    return room;
  }

  function join(tab: Tab, project: string, position: LogPosition | null) {
    const idle = rooms.get(project);
    // An idle stream would resume with events that this tab loads anyway.
    if (idle?.tabs.size === 0 && idle.log.id !== position?.log) rooms.delete(project);
    const room = roomOf(project);
    tab.room = room;
    if (room.tabs.size === 0) room.stream.open();
    room.tabs.add(tab);
    tab.post({ type: "status", status: room.status });
    const { log } = room;
    const missed = position?.log === log.id ? log.end - position.seq : Number.POSITIVE_INFINITY;
    if (position && missed <= log.events.length) {
      const deleted = log.deletions.flatMap((each) => (each.seq >= position.seq ? [each.deleted] : []));
      if (deleted.length > 0) tab.post({ type: "deleted", deleted });
      const events = missed > 0 ? log.events.slice(-missed).filter((event) => event !== null) : [];
      if (missed > 0) tab.post({ type: "events", events, position: positionIn(room) });
    } else if (position) tab.post({ type: "reset", position: positionIn(room) });
    else if (room.isReady) tab.post({ type: "fresh", position: positionIn(room) });
  }

  function leave(tab: Tab) {
    const { room } = tab;
    tab.room = null;
    if (room?.tabs.delete(tab) && room.tabs.size === 0) room.stream.close();
  }

  function sweep() {
    const oldest = Date.now() - silenceTimeoutMs;
    for (const tab of tabs) {
      if (tab.lastSeenAtMs > oldest) continue;
      leave(tab);
      tabs.delete(tab);
    }
  }
  setInterval(sweep, silenceTimeoutMs);

  /** Connects a tab; returns the handler of its messages. */
  return function connect(post: (message: ToTab) => void): (message: FromTab) => void {
    const tab: Tab = { post, room: null, lastSeenAtMs: 0 };
    return (message) => {
      tabs.add(tab);
      tab.lastSeenAtMs = Date.now();
      if (message.type === "away") return leave(tab);
      if (message.type === "retry") return tab.room?.stream.retry();
      if (tab.room?.project === message.project) return post({ type: "status", status: tab.room.status });
      leave(tab);
      join(tab, message.project, message.position);
    };
  };
}

import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/wire/notification.ts";
import { matcherOfDeleted } from "./deleted.ts";
import { createStream, type Stream, type StreamStatus } from "./stream.ts";

/** Where a tab is in a project's log: what it missed after this is sent again. */
export type Place = { log: string; seq: number };

export type FromTab =
  /** Sent on joining and then regularly: a tab that fell silent has crashed. */
  { type: "here"; project: string; place: Place | null } | { type: "away" } | { type: "retry" };

export type ToTab =
  | { type: "status"; status: StreamStatus }
  /** From here on every event is sent; what happened before has to be listed. */
  | { type: "fresh"; place: Place }
  | { type: "events"; events: Event[]; place: Place }
  /** They are not among the events that are sent after that. */
  | { type: "deleted"; deleted: DeletedEvents[] }
  | { type: "notifications"; notifications: Notification[]; unread: number }
  /** Too much was missed. */
  | { type: "reset"; place: Place }
  | { type: "rejected" };

export const pingMs = 15_000;
const silenceMaxMs = 60_000;
const logEventsMax = 5_000;
const logDeletionsMax = 1_000;

type Tab = { post(message: ToTab): void; room: Room | null; heardAtMs: number };

/** What tabs that come back are sent: events, null where one was deleted since, and what was deleted after which event. */
type Log = {
  id: string;
  events: (Event | null)[];
  deletions: { seq: number; deleted: DeletedEvents }[];
  end: number;
};

/** One project's stream, the tabs that follow it, and its recent events for tabs that come back. */
type Room = {
  project: string;
  stream: Stream;
  tabs: Set<Tab>;
  status: StreamStatus;
  isReady: boolean;
  log: Log;
};

/**
 * Shares one stream for each project among tabs. The stream is open while a tab follows it. Runs in a shared worker
 * for all tabs of a browser, or in the page for that page alone.
 */
export function createHub() {
  const rooms = new Map<string, Room>();
  const tabs = new Set<Tab>();
  let logs = 0;

  const newLog = (): Log => ({ id: `${Date.now()}.${logs++}`, events: [], deletions: [], end: 0 });
  const placeIn = ({ log }: Room): Place => ({ log: log.id, seq: log.end });

  function roomOf(project: string): Room {
    const known = rooms.get(project);
    if (known) return known;
    const tell = (message: ToTab) => {
      for (const tab of room.tabs) tab.post(message);
    };
    const stream = createStream(project, {
      status(status) {
        room.status = status;
        tell({ type: "status", status });
      },
      ready(isFirst) {
        room.isReady = true;
        if (isFirst) tell({ type: "fresh", place: placeIn(room) });
      },
      events(events) {
        const { log } = room;
        log.end += events.length;
        log.events.push(...events);
        if (log.events.length > 2 * logEventsMax) log.events.splice(0, log.events.length - logEventsMax);
        tell({ type: "events", events, place: placeIn(room) });
      },
      deleted(deleted) {
        const { log } = room;
        const isDeleted = matcherOfDeleted(deleted);
        log.events = log.events.map((event) => (event && isDeleted(event) ? null : event));
        for (const each of deleted) log.deletions.push({ seq: log.end, deleted: each });
        log.deletions.splice(0, log.deletions.length - logDeletionsMax);
        tell({ type: "deleted", deleted });
      },
      notifications: (notifications, unread) => tell({ type: "notifications", notifications, unread }),
      reset() {
        room.log = newLog();
        tell({ type: "reset", place: placeIn(room) });
      },
      rejected: () => tell({ type: "rejected" }),
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

  function join(tab: Tab, project: string, place: Place | null) {
    const idle = rooms.get(project);
    // A stream that rested would resume with events that this tab lists anyway.
    if (idle?.tabs.size === 0 && idle.log.id !== place?.log) rooms.delete(project);
    const room = roomOf(project);
    tab.room = room;
    if (room.tabs.size === 0) room.stream.open();
    room.tabs.add(tab);
    tab.post({ type: "status", status: room.status });
    const { log } = room;
    const missed = place?.log === log.id ? log.end - place.seq : Number.POSITIVE_INFINITY;
    if (place && missed <= log.events.length) {
      const deleted = log.deletions.flatMap((each) => (each.seq >= place.seq ? [each.deleted] : []));
      if (deleted.length > 0) tab.post({ type: "deleted", deleted });
      const events = missed > 0 ? log.events.slice(-missed).filter((event) => event !== null) : [];
      if (missed > 0) tab.post({ type: "events", events, place: placeIn(room) });
    } else if (place) tab.post({ type: "reset", place: placeIn(room) });
    else if (room.isReady) tab.post({ type: "fresh", place: placeIn(room) });
  }

  function leave(tab: Tab) {
    const { room } = tab;
    tab.room = null;
    if (room?.tabs.delete(tab) && room.tabs.size === 0) room.stream.close();
  }

  function sweep() {
    const oldest = Date.now() - silenceMaxMs;
    for (const tab of tabs) {
      if (tab.heardAtMs > oldest) continue;
      leave(tab);
      tabs.delete(tab);
    }
  }
  setInterval(sweep, silenceMaxMs);

  /** Connects a tab; returns what takes its messages. */
  return function connect(post: (message: ToTab) => void): (message: FromTab) => void {
    const tab: Tab = { post, room: null, heardAtMs: 0 };
    return (message) => {
      tabs.add(tab);
      tab.heardAtMs = Date.now();
      if (message.type === "away") return leave(tab);
      if (message.type === "retry") return tab.room?.stream.retry();
      if (tab.room?.project === message.project) return post({ type: "status", status: tab.room.status });
      leave(tab);
      join(tab, message.project, message.place);
    };
  };
}

import { listChannels } from "../channels/channels.ts";
import { parseSearch } from "../event/search.ts";
import { limits } from "../limits.ts";
import type { Store } from "../storage/store.ts";
import type { Sidebar, View } from "../wire/view.ts";
import { findMarks } from "./marks.ts";
import { listViews, type Viewer } from "./views.ts";

/**
 * A project's channels and views, as a member sees them in the sidebar. The work is bounded: counts stop at
 * `limits.unreadEvents`, channels and views without a new event aren't counted, and views wait for `unreadViewsMs`.
 */
export async function readSidebar(store: Store, viewer: Viewer): Promise<Omit<Sidebar, "ok">> {
  const { control, events } = store;
  const { projectId } = viewer;
  await events.flushCounters();
  const [channels, views, marks] = await Promise.all([
    listChannels(control, projectId),
    listViews(control, viewer),
    findMarks(control, viewer),
  ]);
  const newest = channels.map(({ lastEventAt }) => (lastEventAt === null ? 0 : Date.parse(lastEventAt)));
  const asked = channels.flatMap(({ name, archivedAt }, at) => {
    const afterMs = marks.channels.get(name)?.seenAt ?? marks.joinedAt;
    return archivedAt === null && newest[at]! > afterMs ? [{ name, afterMs }] : [];
  });
  const [counts, unreadOfViews] = await Promise.all([
    events.countNewer({ projectId, channels: asked, toMs: Date.now(), max: limits.unreadEvents }),
    countViews(store, projectId, views, (view) => {
      const afterMs = marks.views.get(view.id) ?? Math.max(Date.parse(view.createdAt), marks.joinedAt);
      return newest.some((ms) => ms > afterMs) ? afterMs : null;
    }),
  ]);
  const unread = new Map(asked.map(({ name }, at) => [name, counts[at]!]));
  return {
    channels: channels.map((channel) => ({
      ...channel,
      unread: unread.get(channel.name) ?? 0,
      pin: marks.channels.get(channel.name)?.pin ?? null,
    })),
    views: views.map((view, at) => ({ ...view, unread: unreadOfViews[at]! })),
  };
}

/**
 * Counts the events of each view.
 *
 * @param afterMsOf - after which time they count; null if there are none
 */
async function countViews(
  { events }: Store,
  projectId: number,
  views: readonly View[],
  afterMsOf: (view: View) => number | null,
): Promise<(number | null)[]> {
  const signal = AbortSignal.timeout(limits.unreadViewsMs);
  const toMs = Date.now() + 1;
  return Promise.all(
    views.map(async (view) => {
      const afterMs = afterMsOf(view);
      if (afterMs === null) return 0;
      const search = parseSearch(view.q);
      const filter = { fromMs: afterMs + 1, toMs, ...(search && { search }) };
      try {
        const counting = events.page({ projectId, filter, order: "desc" }, limits.unreadEvents, signal);
        const page = await Promise.race([counting, aborted(signal)]);
        return page?.events.length ?? null;
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      }
    }),
  );
}

/** Resolves when the signal aborts. A query that doesn't look at it then goes on alone. */
function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

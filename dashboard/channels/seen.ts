import { limits } from "../../server/core/limits.ts";
import type { SeenResponse } from "../../server/schemas/view.ts";
import { api } from "../api.ts";

// Read marks are sent to the server together and a little later, because they change with every event.

/** Channels by name, and views by ID. */
export type Looked = { channels: string[]; views: string[] };

const sendAfterMs = 2_000;

const pending = new Map<string, { channels: Set<string>; views: Set<string> }>();
let timer: ReturnType<typeof setTimeout> | undefined;
let sending: Promise<unknown> = Promise.resolve();

/** Marks channels and views of a project as read on the server, soon. */
export function sendSeenSoon(project: string, { channels, views }: Looked): void {
  const marks = pending.get(project) ?? { channels: new Set(), views: new Set() };
  for (const name of channels) marks.channels.add(name);
  for (const id of views) marks.views.add(id);
  pending.set(project, marks);
  timer ??= setTimeout(() => void sendSeen(), sendAfterMs);
}

/** Sends the waiting marks. Resolves when the server has them. It never rejects: the next mark includes lost ones. */
export function sendSeen(): Promise<unknown> {
  clearTimeout(timer);
  timer = undefined;
  const marks = [...pending];
  pending.clear();
  if (marks.length > 0) {
    const requests = marks.map(([project, { channels, views }]) =>
      postSeen(
        project,
        [...channels].map((name) => ({ name })),
        [...views].map((id) => ({ id })),
      ).catch(() => {}),
    );
    sending = Promise.all([sending, ...requests]);
  }
  return sending;
}

// The tab may be closed next.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") void sendSeen();
});

/** Marks channels and views as read, now or up to a time. Returns the marks before, to undo it. */
export async function postSeen(
  project: string,
  channels: { name: string; seenAt?: string }[],
  views: { id: string; seenAt?: string }[],
): Promise<Pick<SeenResponse, "channels" | "views">> {
  const before: Pick<SeenResponse, "channels" | "views"> = { channels: [], views: [] };
  const all = [
    ...channels.map((mark) => ({ channels: [mark], views: [] })),
    ...views.map((mark) => ({ channels: [], views: [mark] })),
  ];
  for (let at = 0; at < all.length; at += limits.seenMarks) {
    const part = all.slice(at, at + limits.seenMarks);
    const body = {
      channels: part.flatMap((each) => each.channels),
      views: part.flatMap((each) => each.views),
    };
    const response = await api<SeenResponse>("/api/sidebar/seen", {
      method: "POST",
      query: { project },
      body,
    });
    before.channels.push(...response.channels);
    before.views.push(...response.views);
  }
  return before;
}

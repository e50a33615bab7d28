import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { Sidebar } from "../../server/schemas/view.ts";
import { api, errorMessage } from "../api.ts";
import { retryChange } from "../edits/retry-change.ts";
import { queries, refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { orderChannels } from "./channel-order.ts";
import { sidebarQuery } from "./channels.ts";
import { type Looked, postSeen } from "./seen.ts";

// The actions of channels in menus. Each can be undone.

function failed(title: string, error: unknown): void {
  toast({ title, description: errorMessage(error), failed: true });
}

function change(project: string, part: (sidebar: Sidebar) => Partial<Sidebar>): void {
  queries.setQueryData(
    sidebarQuery(project).queryKey,
    (sidebar) => sidebar && { ...sidebar, ...part(sidebar) },
  );
}

/** Marks channels and views as read, with a message that offers to undo it. */
export async function markRead(project: string, { channels, views }: Looked): Promise<void> {
  const { queryKey } = sidebarQuery(project);
  try {
    const before = await postSeen(
      project,
      channels.map((name) => ({ name })),
      views.map((id) => ({ id })),
    );
    await refresh(queryKey);
    toast({
      title: "Marked as read",
      undo: () =>
        postSeen(project, before.channels, before.views)
          .then(() => refresh(queryKey))
          .catch((error) => failed("The marks couldn't be restored", error)),
    });
  } catch (error) {
    failed("Not marked as read", error);
  }
}

type Pins = { channels: readonly string[]; version: string };

/** Changes which channels are pinned, and their order, also if another tab changes them at the same time. */
export async function pinChannels(
  project: string,
  pinsOf: (pins: readonly string[]) => readonly string[],
): Promise<void> {
  const shown = queries.getQueryData(sidebarQuery(project).queryKey);
  if (!shown) return;
  const pinned = orderChannels(shown.channels, "name", "").pinned.map(({ id }) => id);
  function show({ channels: names, version }: Pins) {
    change(project, ({ channels }) => ({
      channels: channels.map((each) => {
        const pin = names.indexOf(each.id);
        return { ...each, pin: pin < 0 ? null : pin };
      }),
      pinsVersion: version,
    }));
  }
  show({ channels: pinsOf(pinned), version: shown.pinsVersion });
  try {
    const saved = await retryChange(
      { channels: pinned, version: shown.pinsVersion },
      ({ channels, version }: Pins) => {
        const body = { channels: pinsOf(channels) };
        return api<Pins>("/api/sidebar/pins", { method: "PUT", query: { project }, body, version });
      },
    );
    show(saved);
  } catch (error) {
    failed("The pins couldn't be saved", error);
  }
  await refresh(sidebarQuery(project).queryKey);
}

/** Archives a channel, with a message that offers to undo it, or lists it again. */
export async function archiveChannel(project: string, name: string, archived: boolean): Promise<void> {
  try {
    const path = `/api/channels/${pathSegment(name)}`;
    await api(path, { method: "PATCH", query: { project }, body: { archived } });
    await refresh(sidebarQuery(project).queryKey);
    announceArchived(project, name, archived);
  } catch (error) {
    failed("The channel couldn't be changed", error);
  }
}

/** Says that a channel was archived, and offers to undo it. */
export function announceArchived(project: string, name: string, archived: boolean): void {
  if (!archived) return;
  toast({ title: `Channel "${name}" archived`, undo: () => archiveChannel(project, name, false) });
}

/** Marks everything that has something unread as read. */
export function markAllRead(project: string, { channels, views }: Sidebar): Promise<void> {
  return markRead(project, {
    channels: channels.filter(({ unread }) => unread > 0).map(({ id }) => id),
    // A view whose count is unknown may have something.
    views: views.filter(({ unread }) => unread !== 0).map(({ id }) => id),
  });
}

import { useQuery } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, CheckCheck, Pencil, Replace, Trash2 } from "lucide-react";
import { useState } from "react";
import type { SidebarView, View } from "../../server/wire/view.ts";
import { api, errorMessage } from "../api.ts";
import { markRead } from "../channels/channel-actions.ts";
import { sidebarQuery } from "../channels/channels.ts";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { savedSearch } from "./saved-search.ts";
import { ViewDialog } from "./view-dialog.tsx";
import { useOpenView, useShownView } from "./views.ts";

export default function ViewMenu({ view, ...props }: MenuContentProps & { view: SidebarView }) {
  const project = useProjectSlug();
  const { queryKey } = sidebarQuery(project);
  const { data } = useQuery(sidebarQuery(project));
  const mayChange = useCan()("views:share") || !view.shared;
  const [renaming, setRenaming] = useState(false);
  const group = data?.views.filter(({ shared }) => shared === view.shared) ?? [];
  const place = group.findIndex(({ id }) => id === view.id);
  const path = `/api/views/${view.id}`;

  async function run(action: () => Promise<unknown>) {
    try {
      await action();
    } catch (error) {
      toast({ title: "The view couldn't be changed", description: errorMessage(error), failed: true });
    }
    await refresh(queryKey);
  }

  const move = (position: number) =>
    run(() => api(path, { method: "PATCH", query: { project }, body: { position } }));

  const { filters, range, split } = useShownView();
  const q = savedSearch(filters);
  const openView = useOpenView(project);
  const canReplace = !openView && q !== null && (q !== "" || range !== null);
  const replace = () =>
    run(async () => {
      const options = { method: "PATCH", query: { project } } as const;
      await api(path, { ...options, body: { q, range, split } });
      const { q: oldQ, range: oldRange, split: oldSplit } = view;
      const undo = () =>
        run(() => api(path, { ...options, body: { q: oldQ, range: oldRange, split: oldSplit } }));
      toast({ title: `View "${view.name}" updated`, undo });
    });

  const remove = () =>
    run(async () => {
      await api(path, { method: "DELETE", query: { project } });
      const { name, q, range, split, shared } = view;
      const undo = () =>
        run(async () => {
          const body = { name, q, range, split, shared };
          const made = await api<{ view: View }>("/api/views", { method: "POST", query: { project }, body });
          const position = { method: "PATCH", query: { project }, body: { position: place } } as const;
          await api(`/api/views/${made.view.id}`, position);
        });
      toast({ title: `View "${name}" deleted`, undo });
    });

  return (
    <>
      <Menu {...props} align="end">
        <MenuItem onSelect={() => void markRead(project, { channels: [], views: [view.id] })}>
          <CheckCheck aria-hidden />
          Mark as read
        </MenuItem>
        {mayChange && (
          <>
            <MenuItem disabled={place <= 0} onSelect={() => void move(place - 1)}>
              <ArrowUp aria-hidden />
              Move up
            </MenuItem>
            <MenuItem disabled={place === group.length - 1} onSelect={() => void move(place + 1)}>
              <ArrowDown aria-hidden />
              Move down
            </MenuItem>
            {canReplace && (
              <MenuItem onSelect={() => void replace()}>
                <Replace aria-hidden />
                Update to the current search
              </MenuItem>
            )}
            <MenuItem onSelect={() => setRenaming(true)}>
              <Pencil aria-hidden />
              Rename
            </MenuItem>
            <MenuSeparator />
            <MenuItem onSelect={() => void remove()}>
              <Trash2 aria-hidden />
              Delete
            </MenuItem>
          </>
        )}
      </Menu>
      {renaming && <ViewDialog view={view} close={() => setRenaming(false)} />}
    </>
  );
}

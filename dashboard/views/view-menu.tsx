import { useQuery } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, CheckCheck, Pencil, Replace, Trash2 } from "lucide-react";
import type { SidebarView, View } from "../../server/schemas/view.ts";
import { api, errorMessage } from "../api.ts";
import { markRead } from "../channels/channel-actions.ts";
import { sidebarQuery } from "../channels/channels.ts";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import { byParts, orNone, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { openDialog } from "../shell/overlays.tsx";
import { toast } from "../shell/toasts.tsx";
import { savedSearch } from "./saved-search.ts";
import { RenameViewDialog } from "./view-dialog.tsx";
import { useOpenView, useShownView } from "./views.ts";

type Shown = Pick<View, "q" | "range" | "split">;

function showError(error: unknown): void {
  toast({ title: "The view couldn't be changed", description: errorMessage(error), failed: true });
}

export default function ViewMenu({ view, ...props }: MenuContentProps & { view: SidebarView }) {
  const project = useProjectSlug();
  const { queryKey } = sidebarQuery(project);
  const { data } = useQuery(sidebarQuery(project));
  const mayChange = useCan()("views:share") || !view.shared;
  const group = data?.views.filter(({ shared }) => shared === view.shared) ?? [];
  const place = group.findIndex(({ id }) => id === view.id);
  const path = `/api/views/${view.id}`;

  async function run(action: () => Promise<unknown>) {
    try {
      await action();
    } catch (error) {
      showError(error);
    }
    await refresh(queryKey);
  }

  const move = (position: number) =>
    run(() => api(path, { method: "PATCH", query: { project }, body: { position } }));

  const { filters, range, split } = useShownView();
  const q = savedSearch(filters);
  const openView = useOpenView(project);
  const canReplace = !openView && q !== null && (q !== "" || range !== null);
  const put = async (body: Shown, version: string) =>
    (await api<{ view: View }>(path, { method: "PATCH", query: { project }, body, version })).view;
  const replacement = useEdit<View, Shown, View>({
    thing: view,
    what: "view",
    isOwn: !view.shared,
    isSingle: true,
    formOf: ({ q, range, split }) => ({ q, range, split }),
    compare: byParts([
      part("Search", ["q"], ({ q }) => q || "All events"),
      part("Time", ["range"], ({ range }) => orNone(range, "The newest events")),
      part("Charts split by", ["split"], ({ split }) => orNone(split, "Nothing")),
    ]),
    keys: [queryKey],
    save: (form, base) => put(form, base.version),
    saved(saved) {
      const { q, range, split } = view;
      const undo = () => run(() => put({ q, range, split }, saved.version));
      toast({ title: `View "${view.name}" updated`, undo });
    },
    failed: showError,
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
              <MenuItem onSelect={() => replacement.submit({ q: q!, range, split })}>
                <Replace aria-hidden />
                Update to the current search
              </MenuItem>
            )}
            <MenuItem onSelect={() => openDialog((close) => <RenameViewDialog view={view} close={close} />)}>
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
      {replacement.dialog}
    </>
  );
}

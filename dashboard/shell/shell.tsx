import { Outlet, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Notification } from "../../server/wire/notification.ts";
import { LiveProvider } from "../live/live.tsx";
import { useMarkRead } from "../notifications/notifications.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { BottomBar } from "./bottom-bar.tsx";
import { Overlays } from "./overlays.tsx";
import { Sidebar } from "./sidebar.tsx";
import { toast } from "./toasts.tsx";

export function Shell() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const { mutate: markRead } = useMarkRead();

  const announce = useCallback(
    ({ id, project, event }: Notification) =>
      toast({
        title: event.icon && !/^[\w.-]+$/.test(event.icon) ? `${event.icon} ${event.name}` : event.name,
        description: event.channelId,
        open() {
          markRead([id]);
          void navigate({ to: "/p/$project/events/$id", params: { project, id: event.id }, search: {} });
        },
      }),
    [navigate, markRead],
  );

  return (
    <LiveProvider project={project} onNotification={announce}>
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-solid px-3 py-2 text-on-solid text-sm focus-visible:translate-y-0"
      >
        Skip to content
      </a>
      <div className="flex h-dvh flex-col md:flex-row">
        <Sidebar />
        <main id="main" className="relative flex min-h-0 min-w-0 flex-1 flex-col bg-surface">
          <Outlet />
        </main>
        <BottomBar />
      </div>
      <Overlays />
    </LiveProvider>
  );
}

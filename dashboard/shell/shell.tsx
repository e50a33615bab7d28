import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { Suspense, useCallback } from "react";
import type { Notification } from "../../server/schemas/notification.ts";
import { useMe } from "../account/me.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { setZone } from "../components/zone.ts";
import { useStartedJobs } from "../jobs/started.ts";
import { useLiveUpdates } from "../live/live-updates.ts";
import { useMarkRead } from "../notifications/notifications.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { BottomBar } from "./bottom-bar.tsx";
import { ConnectionNote } from "./connection-note.tsx";
import { Overlays } from "./overlays.tsx";
import { Sidebar } from "./sidebar.tsx";
import { announce } from "./toasts.tsx";

const ProjectGone = lazyPart(async () => (await import("../projects/project-gone.tsx")).ProjectGone);

const StartedJobs = lazyPart(async () => (await import("../jobs/started-jobs.tsx")).StartedJobs);

export function Shell() {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const { mutate: markRead } = useMarkRead();

  const show = useCallback(
    (notifications: readonly Notification[]) =>
      announce(
        notifications.map(({ id, title, event, url }) => ({
          title: event?.icon && !/^[\w.-]+$/.test(event.icon) ? `${event.icon} ${title}` : title,
          description: event?.channelId,
          open() {
            markRead({ ids: [id] });
            void navigate({ href: url });
          },
        })),
        () => void navigate({ to: "/notifications" }),
      ),
    [navigate, markRead],
  );
  useLiveUpdates(project, show);
  const { project: opened } = useParams({ strict: false });
  const { projects } = useMe();
  // Before anything below writes a time.
  setZone(projects.find(({ slug }) => slug === project)?.timeZone ?? null);
  const isGone = opened !== undefined && !projects.some(({ slug }) => slug === opened);

  return (
    <>
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-solid px-3 py-2 text-on-solid text-sm focus-visible:translate-y-0"
      >
        Skip to content
      </a>
      <div className="flex h-dvh flex-col md:flex-row">
        <Sidebar />
        <main
          id="main"
          tabIndex={-1}
          className="relative flex min-h-0 min-w-0 flex-1 flex-col bg-surface outline-none"
        >
          {isGone ? (
            <Suspense fallback={null}>
              <ProjectGone />
            </Suspense>
          ) : (
            <Outlet />
          )}
          <ConnectionNote />
        </main>
        <BottomBar />
      </div>
      <Overlays />
      {useStartedJobs().length > 0 && (
        <Suspense fallback={null}>
          <StartedJobs />
        </Suspense>
      )}
    </>
  );
}

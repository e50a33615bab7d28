import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import type { Sidebar } from "../../server/schemas/view.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { useProjectSlug } from "../projects/current-project.ts";

const SilenceNote = lazyPart<{ className: string }>(
  async () => (await import("./silence-note.tsx")).SilenceNote,
);

const activeIn = (sidebar: Sidebar) => sidebar.activeSilences;

/** Says which silences are active, if any is. It is loaded only then. */
export function SilenceNotePart({ className }: { className: string }) {
  const project = useProjectSlug();
  const { data: active = 0 } = useQuery({ ...sidebarQuery(project), select: activeIn });
  if (active === 0) return null;
  return (
    // The page is of use without it.
    <ErrorBoundary resetKey={project} fallback={() => null}>
      <Suspense fallback={null}>
        <SilenceNote className={className} />
      </Suspense>
    </ErrorBoundary>
  );
}

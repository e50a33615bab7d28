import { Bookmark } from "lucide-react";
import { useState } from "react";
import { lazyPart } from "../components/lazy-part.tsx";
import { OverlayBoundary } from "../shell/overlays.tsx";
import { savedSearch } from "./saved-search.ts";
import type { NewViewProps } from "./view-dialog.tsx";
import { useOpenView, useShownView } from "./views.ts";

const NewViewDialog = lazyPart<NewViewProps>(async () => (await import("./view-dialog.tsx")).NewViewDialog);

/** The button that saves the feed's filters as a view, if there are any and they aren't saved yet. */
export function SaveView({ project }: { project: string }) {
  const [saving, setSaving] = useState(false);
  const openView = useOpenView(project);
  const { filters, range, split } = useShownView();
  const q = savedSearch(filters);
  const { channel: _, ...others } = filters;
  const isPlain = Object.keys(others).length === 0 && !range && !split;
  if (openView || isPlain || q === null) return null;
  return (
    <>
      <button
        type="button"
        onClick={() => setSaving(true)}
        className="flex h-7 items-center gap-1.5 rounded-md px-2 text-muted text-sm hover:bg-hover hover:text-ink max-md:size-10 max-md:justify-center"
      >
        <Bookmark aria-hidden className="size-3.5 max-md:size-4" />
        <span className="max-md:sr-only">Save view</span>
      </button>
      {saving && (
        <OverlayBoundary close={() => setSaving(false)}>
          <NewViewDialog shown={{ q, range, split }} close={() => setSaving(false)} />
        </OverlayBoundary>
      )}
    </>
  );
}

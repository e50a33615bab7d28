import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { useShortcuts } from "./shortcuts.ts";

// What opens on top of the page, from anywhere in it. Each is loaded when it is first opened.

export type Overlay = "palette" | "help" | "new-channel" | "new-project" | "channels";

const Palette = lazy(() => import("../palette/palette.tsx"));
const Help = lazy(() => import("./help.tsx"));
const NewChannelDialog = lazy(() => import("../channels/new-channel-dialog.tsx"));
const NewProjectDialog = lazy(() => import("../projects/new-project-dialog.tsx"));
const ChannelsSheet = lazy(() => import("../channels/channels-sheet.tsx"));

let current: Overlay | null = null;
const listeners = new Set<() => void>();

export function openOverlay(overlay: Overlay | null): void {
  current = overlay;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const close = () => openOverlay(null);

export function Overlays() {
  const overlay = useSyncExternalStore(subscribe, () => current);
  useShortcuts({ "?": () => openOverlay("help") });

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      openOverlay(current === "palette" ? null : "palette");
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

  return (
    <Suspense fallback={null}>
      {overlay === "palette" && <Palette close={close} />}
      {overlay === "help" && <Help close={close} />}
      {overlay === "new-channel" && <NewChannelDialog close={close} />}
      {overlay === "new-project" && <NewProjectDialog close={close} />}
      {overlay === "channels" && <ChannelsSheet close={close} />}
    </Suspense>
  );
}

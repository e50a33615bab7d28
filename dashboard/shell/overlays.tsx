import { type ReactNode, Suspense, useEffect, useSyncExternalStore } from "react";
import { useSessionEnded } from "../account/session.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { OverlayError } from "./overlay-error.tsx";
import { useShortcuts } from "./shortcuts.tsx";

// Dialogs that can be opened from anywhere. Each is loaded when first opened.

type OverlayProps = { close: () => void };

const overlays = {
  palette: lazyPart<OverlayProps>(async () => (await import("../palette/palette.tsx")).default),
  help: lazyPart<OverlayProps>(async () => (await import("./help.tsx")).default),
  "new-channel": lazyPart<OverlayProps>(
    async () => (await import("../channels/new-channel-dialog.tsx")).default,
  ),
  "new-project": lazyPart<OverlayProps>(
    async () => (await import("../projects/new-project-dialog.tsx")).default,
  ),
  import: lazyPart<OverlayProps>(async () => (await import("../import/import-dialog.tsx")).default),
  channels: lazyPart<OverlayProps>(async () => (await import("../channels/channels-sheet.tsx")).default),
};
const SessionDialog = lazyPart(async () => (await import("../account/session-dialog.tsx")).default);

export type Overlay = keyof typeof overlays;

type DialogOfPage = (close: () => void) => ReactNode;

let current: Overlay | null = null;
let dialog: DialogOfPage | null = null;
const listeners = new Set<() => void>();

export function openOverlay(overlay: Overlay | null): void {
  current = overlay;
  for (const listener of listeners) listener();
}

/** Opens a dialog that stays open whatever becomes of what opened it, such as the row of something that is deleted. */
export function openDialog(opened: DialogOfPage | null): void {
  dialog = opened;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const close = () => openOverlay(null);
const closeDialog = () => openDialog(null);

/** The dialog that is open. */
export function useOverlay(): Overlay | null {
  return useSyncExternalStore(subscribe, () => current);
}

export function Overlays() {
  const overlay = useOverlay();
  const Opened = overlay && overlays[overlay];
  const openedDialog = useSyncExternalStore(subscribe, () => dialog);
  const isSessionOver = useSessionEnded();
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
    <>
      {Opened && (
        <OverlayBoundary key={overlay} close={close}>
          <Opened close={close} />
        </OverlayBoundary>
      )}
      {openedDialog && <OverlayBoundary close={closeDialog}>{openedDialog(closeDialog)}</OverlayBoundary>}
      {isSessionOver && (
        <OverlayBoundary close={() => location.reload()}>
          <SessionDialog />
        </OverlayBoundary>
      )}
    </>
  );
}

/** Renders an overlay, or why it couldn't be loaded. */
export function OverlayBoundary({ close, children }: { close: () => void; children: ReactNode }) {
  return (
    <ErrorBoundary fallback={(error, retry) => <OverlayError error={error} retry={retry} close={close} />}>
      <Suspense fallback={<span data-opening hidden />}>{children}</Suspense>
    </ErrorBoundary>
  );
}

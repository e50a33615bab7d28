import { useEffect, useRef } from "react";
import { errorMessage } from "../api.ts";
import { PartError } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { useServerBack } from "./server-back.ts";

type Props = { error: unknown; retry: () => void; close: () => void };

/** Replaces a dialog whose code couldn't be loaded, and opens it once the server is back. Part of the first load. */
export function OverlayError({ error, retry, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const reason = error instanceof PartError ? error.reason : "unknown";
  useServerBack(reason === "unreachable", retry);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      onClose={close}
      aria-label="This couldn't be opened"
      className="m-auto mt-[12vh] w-[min(28rem,calc(100vw-2rem))] animate-rise rounded-xl border border-line bg-raised p-5 text-ink shadow-lg backdrop:bg-overlay"
    >
      <p role="alert" className="hostile text-sm">
        {errorMessage(error)}
      </p>
      <div className="mt-4 flex justify-end gap-2">
        <Button variant="ghost" onClick={close}>
          Close
        </Button>
        {reason !== "unreachable" && error instanceof PartError ? (
          <Button variant="solid" onClick={() => location.reload()}>
            Reload
          </Button>
        ) : (
          <Button variant="solid" onClick={retry}>
            Retry
          </Button>
        )}
      </div>
    </dialog>
  );
}

import { useEffect, useRef } from "react";
import { sentence } from "../api.ts";
import { PartError } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { useServerBack } from "./server-back.ts";

type Props = { error: unknown; retry: () => void; close: () => void };

/** A dialog of the first load, in the place of one whose code is missing. It opens that once the server is back. */
export function OverlayError({ error, retry, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const reason = error instanceof PartError ? error.reason : "unknown";
  useServerBack(reason === "unreachable", retry);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      onClose={close}
      aria-label="This couldn't be opened"
      className="m-auto mt-[12vh] w-[min(28rem,calc(100vw-2rem))] animate-rise rounded-xl border border-line bg-raised p-5 text-ink shadow-lg backdrop:bg-overlay"
    >
      <p role="alert" className="hostile text-sm">
        {sentence(error)}
      </p>
      <div className="mt-4 flex justify-end gap-2">
        <Button look="ghost" onClick={close}>
          Close
        </Button>
        {reason !== "unreachable" && error instanceof PartError ? (
          <Button look="solid" onClick={() => location.reload()}>
            Reload
          </Button>
        ) : (
          <Button look="solid" onClick={retry}>
            Retry
          </Button>
        )}
      </div>
    </dialog>
  );
}

import type { UseMutationResult } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { sentence } from "../../api.ts";
import { Alert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Field } from "./field.tsx";

type Props = {
  title: string;
  /** What will be gone. */
  children: ReactNode;
  /** The button that does it. */
  action: string;
  run: UseMutationResult<unknown, Error, void>;
  close: () => void;
  /** What has to be typed first, where a click is too little. */
  typed?: string;
};

/** Asks before something goes for good. */
export function ConfirmDialog({ title, children, action, run, close, typed = "" }: Props) {
  const [text, setText] = useState("");

  function submit(event: FormEvent) {
    event.preventDefault();
    run.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title={title}
      description={<span className="hostile block">{children}</span>}
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {run.error && <Alert>{sentence(run.error)}</Alert>}
        {typed !== "" && (
          <Field
            label={`Type "${typed}" to confirm`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            required
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        )}
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="danger" type="submit" busy={run.isPending} disabled={text !== typed}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

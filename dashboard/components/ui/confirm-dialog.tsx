import type { UseMutationResult } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { errorMessage } from "../../api.ts";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { Alert } from "./states.tsx";

type Props = {
  title: string;
  /** Says what will be lost. */
  children: ReactNode;
  /** The confirm button's label. */
  action: string;
  mutation: UseMutationResult<unknown, Error, void>;
  close: () => void;
  /** Text that has to be typed before confirming, where a click is not enough. */
  confirmationText?: string;
};

/** Asks for confirmation before something is permanently deleted. */
export function ConfirmDialog({ title, children, action, mutation, close, confirmationText = "" }: Props) {
  const [text, setText] = useState("");

  function submit(event: FormEvent) {
    event.preventDefault();
    mutation.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title={title}
      description={<span className="hostile block">{children}</span>}
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {mutation.error && <Alert>{errorMessage(mutation.error)}</Alert>}
        {confirmationText !== "" && (
          <Field
            label={`Type "${confirmationText}" to confirm`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            required
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        )}
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button
            variant="danger"
            type="submit"
            busy={mutation.isPending}
            disabled={text !== confirmationText}
          >
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

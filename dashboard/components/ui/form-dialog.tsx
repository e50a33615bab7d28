import type { FormEvent, ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { FormErrors } from "./form-errors.tsx";

type FormDialogProps = {
  title: string;
  description?: ReactNode;
  wide?: boolean | "columns";
  /** Why the request failed. Fields show the errors of their members. */
  error?: unknown;
  /** The submit button's label. */
  action: ReactNode;
  busy?: boolean;
  disabled?: boolean;
  danger?: boolean;
  submit: () => void;
  close: () => void;
  /** Leads to the step before. Without it, there is a button to cancel. */
  back?: () => void;
  /** A further button, at the other side. */
  aside?: ReactNode;
  children?: ReactNode;
};

/** A dialog that is a form: its fields, and buttons to submit and to cancel it. */
export function FormDialog({
  error,
  action,
  busy = false,
  disabled = false,
  danger = false,
  submit,
  close,
  back,
  aside,
  children,
  ...dialog
}: FormDialogProps) {
  function onSubmit(event: FormEvent) {
    event.preventDefault();
    submit();
  }

  return (
    <Dialog open onOpenChange={close} {...dialog}>
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <FormErrors error={error}>{children}</FormErrors>
        <DialogButtons>
          {aside && <div className="mr-auto">{aside}</div>}
          <Button variant="ghost" onClick={back ?? close}>
            {back ? "Back" : "Cancel"}
          </Button>
          <Button variant={danger ? "danger" : "solid"} type="submit" busy={busy} disabled={disabled}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

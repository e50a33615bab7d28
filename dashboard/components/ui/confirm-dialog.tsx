import { type ReactNode, useState } from "react";
import { Field } from "./field.tsx";
import { FormDialog } from "./form-dialog.tsx";

type Props = {
  title: string;
  /** Says what will be lost. */
  children: ReactNode;
  /** The confirm button's label. */
  action: string;
  mutation: { error: unknown; isPending: boolean; mutate: () => void };
  close: () => void;
  /** Text that has to be typed before confirming, where a click is not enough. */
  confirmationText?: string;
  /** The text above the buttons. */
  note?: ReactNode;
};

/** Asks for confirmation before something is permanently deleted. */
export function ConfirmDialog({
  title,
  children,
  action,
  mutation,
  close,
  confirmationText = "",
  note,
}: Props) {
  const [text, setText] = useState("");

  return (
    <FormDialog
      title={title}
      description={<span className="hostile block">{children}</span>}
      error={mutation.error}
      action={action}
      busy={mutation.isPending}
      disabled={text !== confirmationText}
      danger
      submit={() => mutation.mutate()}
      close={close}
    >
      {note}
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
    </FormDialog>
  );
}

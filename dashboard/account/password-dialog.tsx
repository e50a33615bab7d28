import type { UseMutationResult } from "@tanstack/react-query";
import { useState } from "react";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { CurrentPasswordField, SecurityAlert } from "./current-password.tsx";

type Props = {
  title: string;
  description: string;
  action: string;
  danger?: boolean;
  /** Takes the password; empty if the account has none. */
  mutation: UseMutationResult<unknown, Error, string>;
  close: () => void;
};

/** Asks for the current password before a change that protects or ends the account. */
export function PasswordDialog({ title, description, action, danger = false, mutation, close }: Props) {
  const [password, setPassword] = useState("");

  return (
    <FormDialog
      title={title}
      description={description}
      action={action}
      busy={mutation.isPending}
      danger={danger}
      submit={() => mutation.mutate(password)}
      close={close}
    >
      <SecurityAlert error={mutation.error} />
      <CurrentPasswordField value={password} onChange={setPassword} />
    </FormDialog>
  );
}

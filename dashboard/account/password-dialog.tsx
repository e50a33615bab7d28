import type { UseMutationResult } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
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

  function submit(event: FormEvent) {
    event.preventDefault();
    mutation.mutate(password);
  }

  return (
    <Dialog open onOpenChange={close} title={title} description={description}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <SecurityAlert error={mutation.error} />
        <CurrentPasswordField value={password} onChange={setPassword} />
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button variant={danger ? "danger" : "solid"} type="submit" busy={mutation.isPending}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

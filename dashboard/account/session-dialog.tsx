import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useMe } from "./me.ts";
import { sessionRenewed } from "./session.ts";

/** Asks for the password again, on top of whatever is open. */
export default function SessionDialog() {
  const { account } = useMe();
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () =>
      api("/api/auth/sign-in/email", { method: "POST", body: { email: account.email, password } }),
    onSuccess: sessionRenewed,
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    // React may nest this dialog in another form; that form must not be submitted.
    event.stopPropagation();
    signIn.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={() => {}}
      closable={false}
      title="Your session has ended"
      description="Sign in again to continue where you were."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {signIn.error && <Alert>{errorMessage(signIn.error)}</Alert>}
        <p className="hostile text-sm">{account.email}</p>
        <input type="hidden" autoComplete="username" value={account.email} readOnly />
        <Field
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <DialogButtons>
          <Button variant="ghost" className="mr-auto" onClick={() => location.assign("/sign-in")}>
            Use another account
          </Button>
          <Button variant="solid" type="submit" busy={signIn.isPending}>
            Sign in
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

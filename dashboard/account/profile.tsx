import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { memberError } from "../components/ui/form-errors.tsx";
import { byParts, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { refresh } from "../queries.ts";
import { SavedField } from "../settings/saved-field.tsx";
import { type AccountDetails, accountQuery, useAccount } from "./account-query.ts";
import { CurrentPasswordField, SecurityAlert } from "./current-password.tsx";
import { meQuery, useMe } from "./me.ts";

export function Profile() {
  const account = useAccount();
  return (
    <>
      <NameForm account={account} />
      <EmailRow />
    </>
  );
}

function NameForm({ account }: { account: AccountDetails }) {
  const edit = useEdit<AccountDetails, { name: string }>({
    thing: account,
    what: "name",
    isOwn: true,
    draft: `${account.id}.name`,
    formOf: ({ name }) => ({ name }),
    compare: byParts([part("Name", ["name"], ({ name }) => name)]),
    keys: [accountQuery.queryKey, meQuery.queryKey],
    save: ({ name }, { version }) =>
      api("/api/account", { method: "PATCH", body: { name: name.trim() }, version }),
  });
  const { name } = edit.form;
  return (
    <>
      <SavedField save={edit} changed={edit.isChanged && name.trim() !== ""} onSubmit={() => edit.submit()}>
        <Field
          className="flex-1"
          label="Name"
          autoComplete="name"
          required
          maxLength={limits.accountNameCharacters}
          value={name}
          onChange={(event) => edit.change({ name: event.target.value })}
          member="name"
        />
      </SavedField>
      {edit.dialog}
    </>
  );
}

function EmailRow() {
  const { email } = useAccount();
  const [changing, setChanging] = useState(false);
  return (
    <div className="flex items-end justify-between gap-4">
      <div className="min-w-0">
        <p className="font-medium text-sm">Email</p>
        <p className="hostile text-muted">{email}</p>
      </div>
      <Button onClick={() => setChanging(true)}>Change email…</Button>
      {changing && <EmailDialog close={() => setChanging(false)} />}
    </div>
  );
}

function EmailDialog({ close }: { close: () => void }) {
  const { emailAvailable } = useMe();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () =>
      api<{ confirmation: boolean }>("/api/account/email", {
        method: "POST",
        body: { email, ...(password && { password }) },
      }),
    async onSuccess({ confirmation }) {
      if (confirmation) return;
      await refresh(accountQuery.queryKey, meQuery.queryKey);
      close();
    },
  });
  if (change.data?.confirmation) {
    return (
      <Dialog open onOpenChange={close} title="Check your email">
        <p className="text-muted">
          We sent a link to <span className="hostile">{email}</span>. Your address changes when you open it,
          within an hour.
        </p>
        <DialogButtons>
          <Button variant="solid" onClick={close}>
            Done
          </Button>
        </DialogButtons>
      </Dialog>
    );
  }
  const emailError = memberError(change.error, "email");
  return (
    <FormDialog
      title="Change your email address"
      description={
        emailAvailable
          ? "We'll send a link to the new address to confirm it."
          : "You'll sign in with the new address at once. This server can't send email to confirm it, so check it twice."
      }
      action="Change email"
      busy={change.isPending}
      submit={() => change.mutate()}
      close={close}
    >
      {!emailError && <SecurityAlert error={change.error} />}
      <Field
        label="New email"
        type="email"
        autoComplete="email"
        required
        maxLength={limits.emailCharacters}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        error={emailError}
      />
      <CurrentPasswordField value={password} onChange={setPassword} />
    </FormDialog>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { AccountFields, accountBody, useAccountInput } from "../account/account-fields.tsx";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { formError } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import type { SetupResult } from "./setup.ts";

export function SetupForm({ token, onDone }: { token: string; onDone: (result: SetupResult) => void }) {
  const [account, setAccount] = useAccountInput();
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true } & SetupResult>("/api/setup", {
        method: "POST",
        body: { token, ...accountBody(account) },
      }),
    onSuccess: onDone,
  });
  const error = formError(create.error, ["email", "password", "name"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {error && <Alert>{error}</Alert>}
      <AccountFields account={account} onChange={setAccount} error={create.error} />
      <Button variant="solid" size="lg" type="submit" busy={create.isPending} className="mt-2">
        Create account
      </Button>
    </form>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { AccountFields, accountBody, useAccountInput } from "../account/account-fields.tsx";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";
import type { SetupResult } from "./setup-result.ts";

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

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <FormErrors error={create.error}>
        <AccountFields account={account} onChange={setAccount} />
      </FormErrors>
      <Button variant="solid" size="lg" type="submit" busy={create.isPending} className="mt-2">
        Create account
      </Button>
    </form>
  );
}

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { sessionsQuery } from "./account-query.ts";
import { CurrentPasswordField, SecurityAlert } from "./current-password.tsx";
import { NewPasswordField } from "./new-password-field.tsx";

export function PasswordForm() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () =>
      api("/api/auth/change-password", {
        method: "POST",
        body: { currentPassword: current, newPassword: password },
      }),
    async onSuccess() {
      setCurrent("");
      setPassword("");
      toast({ title: "Your password is changed", description: "Your other sessions have ended." });
      await refresh(sessionsQuery.queryKey);
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }

  return (
    <form onSubmit={submit} className="flex max-w-sm flex-col gap-4">
      <SecurityAlert error={change.error} />
      <CurrentPasswordField value={current} onChange={setCurrent} />
      <NewPasswordField
        label="New password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <Button type="submit" className="self-start" busy={change.isPending} disabled={!current || !password}>
        Change password
      </Button>
    </form>
  );
}

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/limits.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field, fieldError, formError } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import type { SetupResult } from "./setup.ts";

export function SetupForm({ token, onDone }: { token: string; onDone: (result: SetupResult) => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true } & SetupResult>("/api/setup", {
        method: "POST",
        body: { token, email, password, ...(name.trim() && { name: name.trim() }) },
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
      <Field
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus
        maxLength={limits.emailCharacters}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        error={fieldError(create.error, "email")}
      />
      <Field
        label="Password"
        type="password"
        autoComplete="new-password"
        required
        minLength={limits.passwordCharactersMin}
        maxLength={limits.passwordCharactersMax}
        hint={`At least ${limits.passwordCharactersMin} characters.`}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={fieldError(create.error, "password")}
      />
      <Field
        label="Name"
        hint="Optional. What should we call you?"
        autoComplete="name"
        maxLength={limits.accountNameCharacters}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={fieldError(create.error, "name")}
      />
      <Button variant="solid" size="lg" type="submit" busy={create.isPending} className="mt-2">
        Create account
      </Button>
    </form>
  );
}

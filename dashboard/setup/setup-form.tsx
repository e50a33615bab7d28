import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/limits.ts";
import { api } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";
import type { Made } from "./made.ts";

export function SetupForm({ token, onMade }: { token: string; onMade: (made: Made) => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true } & Made>("/api/setup", {
        method: "POST",
        body: { token, email, password, ...(name.trim() && { name: name.trim() }) },
      }),
    onSuccess: onMade,
  });
  const fault = faultOfForm(create.error, ["email", "password", "name"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {fault && <Alert>{fault}</Alert>}
      <Field
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus
        maxLength={limits.emailCharacters}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        fault={faultOf(create.error, "email")}
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
        fault={faultOf(create.error, "password")}
      />
      <Field
        label="Name"
        hint="Optional. What should we call you?"
        autoComplete="name"
        maxLength={limits.accountNameCharacters}
        value={name}
        onChange={(event) => setName(event.target.value)}
        fault={faultOf(create.error, "name")}
      />
      <Button look="solid" size="lg" type="submit" busy={create.isPending} className="mt-2">
        Create account
      </Button>
    </form>
  );
}

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { SignUpResponse } from "../../server/schemas/account.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";
import { queries } from "../queries.ts";
import { broadcastToTabs } from "../tabs.ts";
import { AccountNameField } from "./account-fields.tsx";
import { signInOptionsQuery } from "./account-query.ts";
import { AuthLayout, linkClass } from "./auth-layout.tsx";
import { NewPasswordField } from "./new-password-field.tsx";

/**
 * Creates an account. If the server sends email, the first step asks for the address, and the link that is sent there
 * opens the second one.
 */
export function SignUpPage() {
  const { token }: { token?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const { data: options } = useQuery(signInOptionsQuery);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const asksForEmail = token === undefined;
  const asksForPassword = token !== undefined || options?.emailAvailable === false;
  const signUp = useMutation({
    mutationFn: () =>
      api<SignUpResponse>(asksForEmail ? "/api/sign-up" : "/api/sign-up/confirm", {
        method: "POST",
        body: {
          ...(asksForEmail ? { email } : { token }),
          ...(asksForPassword && { password, ...(name.trim() && { name: name.trim() }) }),
        },
      }),
    async onSuccess({ confirmation }) {
      if (confirmation) return;
      queries.clear();
      broadcastToTabs({ type: "signed-in" });
      await navigate({ to: "/", replace: true });
    },
  });
  useEffect(() => {
    document.title = "Create an account · Tidings";
  }, []);

  function submit(event: FormEvent) {
    event.preventDefault();
    signUp.mutate();
  }

  if (signUp.data?.confirmation) {
    return (
      <AuthLayout
        title="Check your email"
        lead={
          <>
            We sent a link to <span className="hostile">{email}</span>. It works for an hour.
          </>
        }
      />
    );
  }
  return (
    <AuthLayout title="Create an account">
      <form onSubmit={submit} className="flex flex-col gap-4">
        <FormErrors error={signUp.error}>
          {asksForEmail && (
            <Field
              label="Email"
              type="email"
              autoComplete="username"
              required
              autoFocus
              maxLength={limits.emailCharacters}
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              member="email"
            />
          )}
          {asksForPassword && (
            <>
              <NewPasswordField
                label="Password"
                value={password}
                onChange={(event) => setPassword(event.target.value)}
                member="password"
              />
              <AccountNameField value={name} onChange={setName} />
            </>
          )}
        </FormErrors>
        <Button variant="solid" size="lg" type="submit" busy={signUp.isPending} className="mt-2">
          {asksForPassword ? "Create account" : "Send link"}
        </Button>
      </form>
      <Link to="/sign-in" search={{}} className={`${linkClass} self-start text-sm`}>
        I have an account
      </Link>
    </AuthLayout>
  );
}

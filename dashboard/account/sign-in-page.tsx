import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { queries } from "../queries.ts";
import { broadcastToTabs } from "../tabs.ts";
import { AuthLayout } from "./auth-layout.tsx";

export function SignInPage() {
  const { next }: { next?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => api("/api/auth/sign-in/email", { method: "POST", body: { email, password } }),
    onSuccess() {
      queries.clear();
      broadcastToTabs({ type: "signed-in" });
      return navigate({ href: safePath(next), replace: true });
    },
  });
  useEffect(() => {
    document.title = "Sign in · Tidings";
  }, []);

  function submit(event: FormEvent) {
    event.preventDefault();
    signIn.mutate();
  }

  return (
    <AuthLayout title="Sign in">
      <form onSubmit={submit} className="flex flex-col gap-4">
        {signIn.error && <Alert>{errorMessage(signIn.error)}</Alert>}
        <Field
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Field
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button variant="solid" size="lg" type="submit" busy={signIn.isPending} className="mt-2">
          Sign in
        </Button>
      </form>
    </AuthLayout>
  );
}

/** Accepts only a path of this dashboard, to prevent open redirects. */
function safePath(next: string | undefined): string {
  const url = next ? URL.parse(next, location.origin) : null;
  return url?.origin === location.origin ? url.pathname + url.search : "/";
}

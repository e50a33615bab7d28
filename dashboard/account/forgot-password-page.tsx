import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { AuthLayout, linkClass } from "./auth-layout.tsx";

export function ForgotPasswordPage() {
  const [email, setEmail] = useState("");
  const request = useMutation({
    mutationFn: () => api("/api/password-reset", { method: "POST", body: { email } }),
  });
  useEffect(() => {
    document.title = "Reset your password · Tidings";
  }, []);

  function submit(event: FormEvent) {
    event.preventDefault();
    request.mutate();
  }

  const back = (
    <Link to="/sign-in" search={{}} className={`${linkClass} self-start text-sm`}>
      Back to sign-in
    </Link>
  );
  if (request.isSuccess) {
    return (
      <AuthLayout
        title="Check your email"
        lead={
          <>
            If there is an account for <span className="hostile">{email}</span>, it gets a link to choose a
            new password. The link works for an hour.
          </>
        }
      >
        {back}
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title="Reset your password" lead="We'll send you a link to choose a new one.">
      <form onSubmit={submit} className="flex flex-col gap-4">
        {request.error && <Alert>{errorMessage(request.error)}</Alert>}
        <Field
          label="Email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Button variant="solid" size="lg" type="submit" busy={request.isPending}>
          Send link
        </Button>
      </form>
      {back}
    </AuthLayout>
  );
}

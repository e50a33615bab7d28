import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { ApiError, api, errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";
import { AuthLayout } from "./auth-layout.tsx";
import { NewPasswordField } from "./new-password-field.tsx";

/** Opened by the link in an email, or by the one that `tidings account reset-password` prints. */
export function ResetPasswordPage() {
  const { token = "" }: { token?: string } = useSearch({ strict: false });
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () =>
      api("/api/auth/reset-password", { method: "POST", body: { token, newPassword: password } }),
  });
  useEffect(() => {
    document.title = "Choose a new password · Tidings";
  }, []);

  function submit(event: FormEvent) {
    event.preventDefault();
    reset.mutate();
  }

  if (reset.isSuccess) {
    return (
      <AuthLayout
        title="Your password is changed"
        lead="All your sessions have ended. Sign in with the new one."
      >
        <Link to="/sign-in" search={{}} className={buttonClass({ variant: "solid", size: "lg" })}>
          Sign in
        </Link>
      </AuthLayout>
    );
  }
  const isUsed = reset.error instanceof ApiError && reset.error.code === "link-invalid";
  return (
    <AuthLayout title="Choose a new password">
      <form onSubmit={submit} className="flex flex-col gap-4">
        {reset.error && <Alert>{errorMessage(reset.error)}</Alert>}
        {isUsed ? (
          <Link to="/sign-in" search={{}} className={buttonClass({ size: "lg" })}>
            Back to sign-in
          </Link>
        ) : (
          <>
            <NewPasswordField
              label="New password"
              autoFocus
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
            <Button variant="solid" size="lg" type="submit" busy={reset.isPending}>
              Change password
            </Button>
          </>
        )}
      </form>
    </AuthLayout>
  );
}

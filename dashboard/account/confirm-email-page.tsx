import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { ApiError, api, errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";
import { refresh } from "../queries.ts";
import { accountQuery } from "./account-query.ts";
import { AuthLayout } from "./auth-layout.tsx";
import { meQuery } from "./me.ts";

/** Opened by the link in an email. It takes a click, because mail programs open links to look at them. */
export function ConfirmEmailPage() {
  const { token = "" }: { token?: string } = useSearch({ strict: false });
  const confirm = useMutation({
    mutationFn: () =>
      api<{ email: string }>("/api/account/email/confirm", { method: "POST", body: { token } }),
    onSuccess: () => refresh(meQuery.queryKey, accountQuery.queryKey),
  });
  useEffect(() => {
    document.title = "Confirm your email address · Tidings";
  }, []);
  const needsSignIn = confirm.error instanceof ApiError && confirm.error.code === "sign-in-needed";
  if (confirm.data) {
    return (
      <AuthLayout
        title="Your email address is confirmed"
        lead={
          <>
            Sign in with <span className="hostile">{confirm.data.email}</span>.
          </>
        }
      >
        <Link to="/" className={buttonClass({ variant: "solid", size: "lg" })}>
          Open Tidings
        </Link>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title="Confirm your email address" lead="It is for signing in and for notifications.">
      {confirm.error && <Alert>{errorMessage(confirm.error)}</Alert>}
      {needsSignIn ? (
        <Link
          to="/sign-in"
          search={{ next: `/confirm-email?token=${encodeURIComponent(token)}` }}
          className={buttonClass({ variant: "solid", size: "lg" })}
        >
          Sign in
        </Link>
      ) : (
        <Button variant="solid" size="lg" busy={confirm.isPending} onClick={() => confirm.mutate()}>
          Confirm
        </Button>
      )}
    </AuthLayout>
  );
}

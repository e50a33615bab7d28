import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { api, errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";
import { queries } from "../queries.ts";
import { AuthLayout } from "./auth-layout.tsx";

/**
 * Opened by the link that an account's former address is sent. It takes a click, because mail programs open links to look
 * at them.
 */
export function RestoreEmailPage() {
  const { token = "" }: { token?: string } = useSearch({ strict: false });
  const restore = useMutation({
    mutationFn: () =>
      api<{ email: string; token: string }>("/api/account/email/restore", {
        method: "POST",
        body: { token },
      }),
    onSuccess: () => queries.clear(),
  });
  useEffect(() => {
    document.title = "Take your account back · Tidings";
  }, []);
  if (restore.data) {
    return (
      <AuthLayout
        title="The account is yours again"
        lead={
          <>
            It belongs to <span className="hostile">{restore.data.email}</span>, and all sessions have ended.
            Choose a new password. Then look at your passkeys, projects and API keys: somebody else may have
            changed them.
          </>
        }
      >
        <Link
          to="/reset-password"
          search={{ token: restore.data.token }}
          className={buttonClass({ variant: "solid", size: "lg" })}
        >
          Choose a new password
        </Link>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout
      title="Take your account back"
      lead="If you didn't change its email address, somebody else did. This ends all sessions and the password, and removes the passkeys and the second factor that were added since."
    >
      {restore.error && <Alert>{errorMessage(restore.error)}</Alert>}
      <Button variant="solid" size="lg" busy={restore.isPending} onClick={() => restore.mutate()}>
        This wasn't me
      </Button>
    </AuthLayout>
  );
}

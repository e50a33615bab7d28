import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { queries } from "../queries.ts";
import { broadcastToTabs } from "../tabs.ts";
import { signInOptionsQuery } from "./account-query.ts";
import { AuthLayout, linkClass } from "./auth-layout.tsx";
import { SignInForm } from "./sign-in-form.tsx";

/** Errors of the OpenID Connect provider, by the code in the URL. */
const providerErrors: Record<string, string> = {
  sign_up_closed: "There is no account for you here yet. Ask a member for an invitation.",
  email_not_verified: "Your sign-in provider has not verified your email address.",
  account_not_linked:
    "An account with your email address exists, but the address isn't verified on both sides. Sign in with your password.",
  access_denied: "You canceled the sign-in.",
};

export function SignInPage() {
  const { next, error, step }: { next?: string; error?: string; step?: string } = useSearch({
    strict: false,
  });
  const navigate = useNavigate();
  const { data: options } = useQuery(signInOptionsQuery);
  const path = safePath(next);
  useEffect(() => {
    document.title = "Sign in · Tidings";
  }, []);

  function onDone() {
    queries.clear();
    broadcastToTabs({ type: "signed-in" });
    void navigate({ href: path, replace: true });
  }

  return (
    <AuthLayout title="Sign in">
      <SignInForm
        next={path}
        onDone={onDone}
        asksForCode={step === "code"}
        footer={
          options?.signUp && (
            <p className="text-muted text-sm">
              New here?{" "}
              <Link to="/sign-up" className={linkClass}>
                Create an account
              </Link>
            </p>
          )
        }
        notice={error && (providerErrors[error] ?? "The sign-in provider's answer can't be used. Try again.")}
      >
        {options?.emailAvailable && (
          <Link to="/forgot-password" className={`${linkClass} self-start text-sm`}>
            Forgot your password?
          </Link>
        )}
      </SignInForm>
    </AuthLayout>
  );
}

/** Accepts only a path of this dashboard, to prevent open redirects. */
function safePath(next: string | undefined): string {
  const url = next ? URL.parse(next, location.origin) : null;
  return url?.origin === location.origin ? url.pathname + url.search : "/";
}

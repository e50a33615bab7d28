import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { AuthLayout } from "../account/auth-layout.tsx";
import { meQuery } from "../account/me.ts";
import { errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert, Skeleton } from "../components/ui/states.tsx";
import { queries } from "../queries.ts";
import { FirstEvent } from "./first-event.tsx";
import { setupQuery } from "./setup.ts";
import { SetupForm } from "./setup-form.tsx";
import { loadSetupResult, type SetupResult, saveSetupResult } from "./setup-result.ts";

/** The first-run setup on one page: account, API key and first event. */
export function SetupPage() {
  const { token }: { token?: string } = useSearch({ strict: false });
  const [result, setResult] = useState(loadSetupResult);
  const { data, error, refetch } = useQuery(setupQuery);
  useEffect(() => {
    document.title = "Set up · Tidings";
  }, []);

  const isDone = data?.needed === false;
  const { data: me } = useQuery({ ...meQuery, enabled: isDone && !result });

  function onDone(result: SetupResult) {
    saveSetupResult(result);
    setResult(result);
    queries.setQueryData(setupQuery.queryKey, { ok: true, needed: false });
  }

  // Only once setup is done: a stored key may be from an earlier installation at the same address.
  if (result && isDone) return <FirstEvent project={result.project} secret={result.secret} />;
  if (error) {
    return (
      <AuthLayout title="Set up Tidings">
        <Alert>{errorMessage(error)}</Alert>
        <Button onClick={() => void refetch()}>Retry</Button>
      </AuthLayout>
    );
  }
  if (!data) {
    return (
      <AuthLayout title="Set up Tidings">
        <Skeleton className="h-64" />
      </AuthLayout>
    );
  }
  if (isDone && me) {
    return (
      <AuthLayout title="Tidings is set up" lead={`You're signed in as ${me.account.email}.`}>
        <Link to="/" className={buttonClass({ variant: "solid", size: "lg" })}>
          Open the feed
        </Link>
      </AuthLayout>
    );
  }
  if (isDone) {
    return (
      <AuthLayout title="Already set up" lead="This installation already has an owner.">
        <Link to="/sign-in" search={{}} className={buttonClass({ variant: "solid", size: "lg" })}>
          Sign in
        </Link>
      </AuthLayout>
    );
  }
  if (!token) {
    return (
      <AuthLayout
        title="Open the link from the console"
        lead="Tidings printed a link when it started. It contains a one-time token, so that only you can create the first account."
      >
        <pre className="whitespace-pre-wrap break-all rounded-lg border border-line bg-surface p-3 font-mono text-muted text-xs leading-5">
          {`${location.origin}/setup?token=…`}
        </pre>
        <p className="text-muted text-sm">Lost it? Restart Tidings to get a new link.</p>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title="Welcome to Tidings" lead="Create your account. You're a minute from your first event.">
      <SetupForm token={token} onDone={onDone} />
    </AuthLayout>
  );
}

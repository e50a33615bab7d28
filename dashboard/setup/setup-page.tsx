import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Entrance } from "../account/entrance.tsx";
import { meQuery } from "../account/me.ts";
import { sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { queries } from "../queries.ts";
import { FirstEvent } from "./first-event.tsx";
import { keepMade, type Made, recallMade } from "./made.ts";
import { SetupForm } from "./setup-form.tsx";
import { setupQuery } from "./setup-state.ts";

/** The first run: an account, a key, and the first event, on one page. */
export function SetupPage() {
  const { token }: { token?: string } = useSearch({ strict: false });
  const [made, setMade] = useState(recallMade);
  const { data, error, refetch } = useQuery(setupQuery);
  useEffect(() => {
    document.title = "Set up · Tidings";
  }, []);

  const isDone = data?.needed === false;
  const { data: me } = useQuery({ ...meQuery, enabled: isDone && !made });

  function onMade(made: Made) {
    keepMade(made);
    setMade(made);
    queries.setQueryData(setupQuery.queryKey, { ok: true, needed: false });
  }

  // A key that was kept from another installation at the same address is worth nothing.
  if (made && isDone) return <FirstEvent project={made.project} secret={made.secret} />;
  if (error) {
    return (
      <Entrance title="Set up Tidings">
        <Alert>{sentence(error)}</Alert>
        <Button onClick={() => void refetch()}>Retry</Button>
      </Entrance>
    );
  }
  if (!data) {
    return (
      <Entrance title="Set up Tidings">
        <Skeleton className="h-64" />
      </Entrance>
    );
  }
  if (isDone && me) {
    return (
      <Entrance title="Tidings is set up" lead={`You're signed in as ${me.account.email}.`}>
        <Link to="/" className={buttonClass({ look: "solid", size: "lg" })}>
          Open the feed
        </Link>
      </Entrance>
    );
  }
  if (isDone) {
    return (
      <Entrance title="Already set up" lead="This installation already has an owner.">
        <Link to="/sign-in" search={{}} className={buttonClass({ look: "solid", size: "lg" })}>
          Sign in
        </Link>
      </Entrance>
    );
  }
  if (!token) {
    return (
      <Entrance
        title="Open the link from the console"
        lead="Tidings printed a link when it started. It contains a one-time token, so that only you can create the first account."
      >
        <pre className="whitespace-pre-wrap break-all rounded-lg border border-line bg-surface p-3 font-mono text-muted text-xs leading-5">
          {`${location.origin}/setup?token=…`}
        </pre>
        <p className="text-muted text-sm">Lost it? Restart Tidings to get a new link.</p>
      </Entrance>
    );
  }
  return (
    <Entrance title="Welcome to Tidings" lead="Create your account. You're a minute from your first event.">
      <SetupForm token={token} onMade={onMade} />
    </Entrance>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { Entrance } from "../account/entrance.tsx";
import { sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { FirstEvent } from "./first-event.tsx";
import { SetupForm } from "./setup-form.tsx";
import { setupQuery } from "./setup-state.ts";

/** The first run: an account, a key, and the first event, on one page. */
export function SetupPage() {
  const { token }: { token?: string } = useSearch({ strict: false });
  const [made, setMade] = useState<{ project: Project; secret: string } | null>(null);
  const { data, error, refetch } = useQuery({ ...setupQuery, enabled: made === null });
  useEffect(() => {
    document.title = "Set up · Tidings";
  }, []);

  if (made) return <FirstEvent project={made.project} secret={made.secret} />;
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
  if (!data.needed) {
    return (
      <Entrance title="Set up already" lead="This installation has its owner. Sign in with your account.">
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
        lead="Tidings printed a link when it started. It holds a one-time token, so that nobody but you can make the first account."
      >
        <pre className="whitespace-pre-wrap break-all rounded-lg border border-line bg-surface p-3 font-mono text-muted text-xs leading-5">
          {`${location.origin}/setup?token=…`}
        </pre>
        <p className="text-muted text-sm">Lost it? Restart Tidings, and it prints a link again.</p>
      </Entrance>
    );
  }
  return (
    <Entrance title="Welcome to Tidings" lead="Make your account. The first event is a minute away.">
      <SetupForm token={token} onMade={setMade} />
    </Entrance>
  );
}

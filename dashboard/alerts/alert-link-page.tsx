import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import type { AlertLinkResponse, Alert as ProjectAlert } from "../../server/schemas/alert.ts";
import { AuthLayout } from "../account/auth-layout.tsx";
import { api, errorMessage } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert, Skeleton } from "../components/ui/states.tsx";
import { AlertState } from "./alert-state.tsx";
import type { AlertAction } from "./alerts.ts";

/** The page behind the links in a message. It asks first, because programs that check links open them too. */
export function AlertLinkPage() {
  const { token = "" } = useParams({ strict: false });
  const asked = useSearch({ strict: false }) as { do?: string; minutes?: string };
  const path = encodeURIComponent(token);
  const link = useQuery({
    queryKey: ["alert-link", token],
    queryFn: () => api<AlertLinkResponse>(`/api/alert-links/${path}`),
  });
  const act = useMutation({
    mutationFn: (action: AlertAction) =>
      api<AlertLinkResponse>(`/alert/${path}`, { method: "POST", body: action }),
    // What somebody else did meanwhile is shown beside the error.
    onError: () => void link.refetch(),
  });
  useEffect(() => {
    document.title = "Alert · Tidings";
  }, []);

  const data = act.data ?? link.data;
  if (!data) {
    return (
      <AuthLayout title="Alert">
        {link.error ? <Alert>{errorMessage(link.error)}</Alert> : <Skeleton className="h-24" />}
      </AuthLayout>
    );
  }
  const { alert, project, url } = data;
  const first = firstAction(asked);
  const actions = alert.state === "resolved" ? [] : [first, ...others(first, alert)];
  return (
    <AuthLayout
      title={alert.title}
      lead={
        <span className="hostile">
          {project} · opened <RelativeTime at={alert.openedAt} form="long" />
        </span>
      }
    >
      <p role="status" className="hostile flex flex-wrap items-center gap-2 text-sm">
        <AlertState state={alert.state} />
        {stateText(alert)}
      </p>
      {act.error && <Alert>{errorMessage(act.error)}</Alert>}
      {!act.isSuccess &&
        actions.map((action, index) => (
          <Button
            key={labelOf(action)}
            variant={index === 0 ? "solid" : "outline"}
            size="lg"
            busy={act.isPending && act.variables === action}
            disabled={act.isPending}
            onClick={() => act.mutate(action)}
          >
            {labelOf(action)}
          </Button>
        ))}
      <a href={url} className={buttonClass({ variant: "ghost", size: "lg" })}>
        Open the alert
      </a>
    </AuthLayout>
  );
}

/** What the link in the message said. */
function firstAction({ do: action, minutes }: { do?: string; minutes?: string }): AlertAction {
  if (action === "resolve") return { do: "resolve" };
  const number = Number(minutes);
  return { do: "acknowledge", minutes: Number.isInteger(number) && number > 0 ? number : null };
}

function others(first: AlertAction, { state }: ProjectAlert): AlertAction[] {
  if (first.do === "acknowledge") return [{ do: "resolve" }];
  return state === "firing" ? [{ do: "acknowledge", minutes: null }] : [];
}

function labelOf(action: AlertAction): string {
  if (action.do === "resolve") return "Resolve";
  if (action.minutes === null) return "Acknowledge";
  return action.minutes === 60 ? "Snooze for an hour" : `Snooze for ${action.minutes} minutes`;
}

function stateText({ state, acknowledged, resolved }: ProjectAlert): string {
  if (state === "resolved") return resolved!.by === null ? "" : `by ${resolved!.by}`;
  return state === "acknowledged" ? `by ${acknowledged!.by}` : "";
}

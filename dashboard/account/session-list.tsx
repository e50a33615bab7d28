import { useMutation, useQuery } from "@tanstack/react-query";
import { LogOut, MonitorSmartphone } from "lucide-react";
import type { SessionInfo } from "../../server/schemas/session.ts";
import { api, errorMessage } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { Alert, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { refresh } from "../queries.ts";
import { Panel } from "../settings/group.tsx";
import { sessionsQuery } from "./account-query.ts";
import { deviceName } from "./device-name.ts";

export function SessionList() {
  const { data: sessions, error, refetch } = useQuery(sessionsQuery);
  const end = useMutation({
    /** Null ends all but this one. */
    mutationFn: (id: string | null) =>
      api(`/api/sessions${id === null ? "" : `/${encodeURIComponent(id)}`}`, { method: "DELETE" }),
    onSettled: () => refresh(sessionsQuery.queryKey),
  });
  if (error && !sessions) {
    return <ErrorState title="Your sessions couldn't be loaded" error={error} retry={() => void refetch()} />;
  }
  if (!sessions) return <Skeleton className="h-32 rounded-lg" />;
  const current = sessions.filter(({ isCurrent }) => isCurrent);
  const others = sessions.filter(({ isCurrent }) => !isCurrent);
  return (
    <>
      {end.error && <Alert>{errorMessage(end.error)}</Alert>}
      <Panel>
        {[...current, ...others].map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            busy={end.isPending && end.variables === session.id}
            end={() => end.mutate(session.id)}
          />
        ))}
      </Panel>
      {others.length > 0 && (
        <Button
          className="self-start"
          busy={end.isPending && end.variables === null}
          onClick={() => end.mutate(null)}
        >
          Sign out everywhere else
        </Button>
      )}
    </>
  );
}

function SessionRow({ session, busy, end }: { session: SessionInfo; busy: boolean; end: () => void }) {
  const device = session.userAgent === null ? "Unknown device" : deviceName(session.userAgent);
  return (
    <div className="flex min-h-14 items-center gap-3 px-4 py-2.5">
      <MonitorSmartphone aria-hidden className="size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1">
        <p className="hostile font-medium">
          {device}
          {session.isCurrent && (
            <span className="ml-2 rounded bg-accent-soft px-1.5 py-0.5 font-medium text-accent text-xs">
              This session
            </span>
          )}
        </p>
        <p className="hostile text-muted text-xs">
          Signed in <RelativeTime at={session.createdAt} form="long" />
          {session.address !== null && ` from ${session.address}`}
        </p>
      </div>
      {!session.isCurrent && (
        <RowMenu
          name={device}
          actions={[{ label: "Sign out", icon: LogOut, danger: true, disabled: busy, onSelect: end }]}
        />
      )}
    </div>
  );
}

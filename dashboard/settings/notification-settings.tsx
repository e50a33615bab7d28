import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Destination } from "../../server/schemas/account-destination.ts";
import { useMe } from "../account/me.ts";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { preferencesQuery } from "../notifications/preferences.ts";
import { destinationsQuery, useSetEnabled } from "./destinations.ts";
import { DeviceList, TestButton } from "./device-list.tsx";
import { Group, Panel } from "./group.tsx";
import { LevelList } from "./level-list.tsx";
import { LimitList } from "./limit-list.tsx";
import { MuteList } from "./mute-list.tsx";
import { ownEndpointQuery, pushObstacle, usePushSwitch } from "./push.ts";
import { ScheduleDialog } from "./schedule-dialog.tsx";
import { describeDigest, describeQuietHours } from "./schedule-text.ts";

export function NotificationSettings() {
  const { data, error, refetch } = useQuery(destinationsQuery);
  return (
    <Group title="Notifications" lead="How you're notified, in all projects">
      {error && !data ? (
        <ErrorState
          title="Notification settings couldn't be loaded"
          error={error}
          retry={() => void refetch()}
        />
      ) : !data ? (
        <Skeleton className="h-48 rounded-lg" />
      ) : (
        <Destinations destinations={data} />
      )}
    </Group>
  );
}

function Destinations({ destinations }: { destinations: Destination[] }) {
  const { vapidPublicKey, emailAvailable } = useMe();
  const { data: endpoint = null } = useQuery(ownEndpointQuery);
  const setEnabled = useSetEnabled();
  const dashboard = destinations.find(({ kind }) => kind === "dashboard");
  const email = destinations.find(({ kind }) => kind === "email");
  const devices = destinations.filter(({ kind }) => kind === "browser");
  const own = devices.find((device) => endpoint !== null && device.endpoint === endpoint);
  const push = usePushSwitch(vapidPublicKey, own);
  const obstacle = pushObstacle();
  const isUnconfirmed = email?.enabled && !email.verified;

  return (
    <>
      <Panel>
        {dashboard && (
          <SwitchRow
            label="Dashboard notifications"
            hint="In the bell, and on screen while the dashboard is open."
            checked={dashboard.enabled}
            disabled={setEnabled.isPending}
            onChange={(enabled) => setEnabled.mutate({ id: dashboard.id, enabled })}
          />
        )}
        <SwitchRow
          label="Push notifications on this device"
          hint={obstacle ?? "Even while the dashboard is closed."}
          checked={own !== undefined}
          disabled={push.isPending || (obstacle !== null && own === undefined)}
          onChange={(on) => push.mutate(on)}
        />
        <SwitchRow
          label="Email notifications"
          hint={
            emailAvailable ? (
              isUnconfirmed ? (
                `Open the link that was sent to ${email.label}. Until then, you get no email.`
              ) : (
                email?.label
              )
            ) : (
              <>
                Not configured. Set <code className="font-mono text-xs">SMTP_URL</code> on the server to send
                email.
              </>
            )
          }
          checked={emailAvailable && (email?.enabled ?? false)}
          disabled={!emailAvailable || !email || setEnabled.isPending}
          onChange={(enabled) => email && setEnabled.mutate({ id: email.id, enabled })}
        >
          {emailAvailable && email && !isUnconfirmed && <TestButton id={email.id} />}
          {emailAvailable && isUnconfirmed && (
            <Button
              busy={setEnabled.isPending}
              onClick={() => setEnabled.mutate({ id: email.id, enabled: true })}
            >
              Send the link again
            </Button>
          )}
        </SwitchRow>
      </Panel>
      <DeviceList devices={devices} own={own} />
      <PreferenceSettings
        destinations={destinations.filter(({ kind }) => emailAvailable || kind !== "email")}
      />
    </>
  );
}

/** Sets what each destination gets, and when. */
function PreferenceSettings({ destinations }: { destinations: Destination[] }) {
  const { data, error, refetch } = useQuery(preferencesQuery);
  const [editing, setEditing] = useState(false);
  if (error && !data) {
    return <ErrorState title="Preferences couldn't be loaded" error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Skeleton className="h-32 rounded-lg" />;
  const { quietHours, emailDigest, timeZone, levels, mutes, unsubscribed } = data;
  return (
    <>
      <div className="mt-2 flex flex-col gap-2">
        <h3 className="font-medium text-muted text-sm">When</h3>
        <Panel>
          <div className="flex items-center gap-4 px-4 py-3">
            <dl className="grid min-w-0 flex-1 grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-sm">
              <dt className="text-muted">Quiet hours</dt>
              <dd>{quietHours ? describeQuietHours(quietHours) : "None"}</dd>
              <dt className="text-muted">Email</dt>
              <dd>{describeDigest(emailDigest)}</dd>
              {(quietHours || emailDigest) && (
                <>
                  <dt className="text-muted">Time zone</dt>
                  <dd>{timeZone}</dd>
                </>
              )}
            </dl>
            <Button onClick={() => setEditing(true)}>Change…</Button>
          </div>
        </Panel>
      </div>
      <LimitList destinations={destinations} />
      <LevelList destinations={destinations} levels={levels} />
      <MuteList mutes={mutes} unsubscribed={unsubscribed} />
      {editing && <ScheduleDialog preferences={data} close={() => setEditing(false)} />}
    </>
  );
}

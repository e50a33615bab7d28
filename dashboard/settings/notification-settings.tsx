import { useQuery } from "@tanstack/react-query";
import type { Destination } from "../../server/wire/notification.ts";
import { useMe } from "../account/me.ts";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { destinationsQuery, useSetEnabled } from "./destinations.ts";
import { DeviceList, TestButton } from "./device-list.tsx";
import { Group, Panel } from "./group.tsx";
import { ownEndpointQuery, pushObstacle, usePushSwitch } from "./push.ts";

export function NotificationSettings() {
  const { data, error, refetch } = useQuery(destinationsQuery);
  return (
    <Group title="Notifications" lead="How you're notified, across all projects">
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
              email?.label
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
          {emailAvailable && email && <TestButton id={email.id} />}
        </SwitchRow>
      </Panel>
      <DeviceList devices={devices} own={own} />
    </>
  );
}

import { MonitorSmartphone, Send, X } from "lucide-react";
import type { Destination } from "../../server/schemas/account-destination.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useRemoveDestination, useTestDestination } from "./destinations.ts";
import { Panel } from "./group.tsx";

type DeviceListProps = { devices: Destination[]; own: Destination | undefined };

/** The browsers that get push notifications, on all of the user's machines. */
export function DeviceList({ devices, own }: DeviceListProps) {
  const remove = useRemoveDestination();
  const test = useTestDestination();
  if (devices.length === 0) return null;
  return (
    <div className="mt-2 flex flex-col gap-2">
      <h3 className="font-medium text-muted text-sm">Devices</h3>
      <Panel>
        {devices.map((device) => (
          <div key={device.id} className="flex min-h-14 items-center gap-3 px-4 py-2.5">
            <MonitorSmartphone aria-hidden className="size-4 shrink-0 text-faint" />
            <div className="min-w-0 flex-1">
              <p className="hostile font-medium">
                {device.label}
                {device.id === own?.id && (
                  <span className="ml-2 rounded bg-accent-soft px-1.5 py-0.5 font-medium text-accent text-xs">
                    This device
                  </span>
                )}
              </p>
              <p className="text-muted text-xs">
                {device.enabled ? "Added" : "Off. Added"} <RelativeTime at={device.createdAt} form="long" />
              </p>
            </div>
            <RowMenu
              name={device.label}
              actions={[
                {
                  label: "Send a test",
                  icon: Send,
                  disabled: test.isPending,
                  onSelect: () => test.mutate(device.id),
                },
                {
                  label: "Remove",
                  icon: X,
                  danger: true,
                  disabled: remove.isPending,
                  onSelect: () => remove.mutate(device.id),
                },
              ]}
            />
          </div>
        ))}
      </Panel>
    </div>
  );
}

export function TestButton({ id }: { id: string }) {
  const test = useTestDestination();
  return (
    <Button busy={test.isPending} onClick={() => test.mutate(id)}>
      {!test.isPending && <Send aria-hidden className="size-3.5" />}
      Send a test
    </Button>
  );
}

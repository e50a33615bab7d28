import { isolated } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/dialog.tsx";
import { muteDurations, useMute } from "./preferences.ts";

type Props = { project: string; channel: string; close: () => void };

/** Asks for how long to mute a channel. */
export function MuteChannelDialog({ project, channel, close }: Props) {
  const mute = useMute();
  return (
    <Dialog
      open
      dismissible
      onOpenChange={close}
      title={`Mute ${isolated(channel)}`}
      description="You get no notifications of its events, not even from urgent rules. Other members still do."
    >
      <ul aria-label="For how long" className="grid grid-cols-2 gap-2">
        {muteDurations.map(({ label, minutes }) => (
          <li key={label}>
            <Button
              className="w-full"
              disabled={mute.isPending}
              onClick={() =>
                mute.mutate({ project, channel, name: null, minutes: minutes() }, { onSuccess: close })
              }
            >
              {label}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

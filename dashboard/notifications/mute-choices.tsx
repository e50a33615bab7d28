import { clsx } from "clsx";
import { useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { muteDurations, useMute } from "./preferences.ts";

export type MuteChoicesProps = {
  project: string;
  channel: string;
  name: string;
  /** Called once it is muted. */
  onDone: () => void;
  className?: string;
};

/** Choices for muting the event's name or its channel, and for how long. */
export default function MuteChoices({ project, channel, name, onDone, className }: MuteChoicesProps) {
  const [isChannel, setChannel] = useState(false);
  const mute = useMute();
  const choose = (minutes: number | null) =>
    mute.mutate({ project, channel, name: isChannel ? null : name, minutes }, { onSuccess: onDone });
  return (
    <fieldset aria-label="Mute" className={clsx("flex min-w-0 flex-col gap-2", className)}>
      <select
        // biome-ignore lint/a11y/noAutofocus: it was just opened by its button
        autoFocus
        aria-label="What to mute"
        value={isChannel ? "channel" : "name"}
        onChange={(event) => setChannel(event.target.value === "channel")}
        className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-raised pl-2.5 text-sm max-md:h-11 max-md:text-lg"
      >
        <option value="name">Mute events named “{name}”</option>
        <option value="channel">Mute all of {channel}</option>
      </select>
      <div className="flex flex-wrap gap-1.5">
        {muteDurations.map(({ label, minutes }) => (
          <Button key={label} disabled={mute.isPending} onClick={() => choose(minutes())}>
            {label}
          </Button>
        ))}
      </div>
    </fieldset>
  );
}

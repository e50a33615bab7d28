import { useQuery } from "@tanstack/react-query";
import {
  Archive,
  ArchiveRestore,
  ArrowDown,
  ArrowUp,
  Bell,
  BellOff,
  CheckCheck,
  Pencil,
  Pin,
  PinOff,
} from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuSeparator } from "../components/ui/menu.tsx";
import { MuteChannelDialog } from "../notifications/mute-channel-dialog.tsx";
import { preferencesQuery, useUnmute } from "../notifications/preferences.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openDialog } from "../shell/overlays.tsx";
import { archiveChannel, markRead, pinChannels } from "./channel-actions.ts";
import { orderChannels } from "./channel-order.ts";
import { channelsQuery } from "./channels.ts";
import EditChannelDialog from "./edit-channel-dialog.tsx";

/** The menu of a channel in the sidebar. */
export default function ChannelMenu({ name, ...props }: MenuContentProps & { name: string }) {
  const project = useProjectSlug();
  const { data: channels = [] } = useQuery(channelsQuery(project));
  const mayChange = useCan()("channels:change");
  const { data: preferences } = useQuery(preferencesQuery);
  const unmute = useUnmute();
  const mute = preferences?.mutes.find(
    (each) => each.project === project && each.channel === name && each.name === null,
  );
  const channel = channels.find(({ id }) => id === name);
  const pins = orderChannels(channels, "name", "").pinned.map(({ id }) => id);
  const place = pins.indexOf(name);
  const isArchived = channel?.archivedAt != null;

  const pin = (pinsOf: (pins: readonly string[]) => readonly string[]) => void pinChannels(project, pinsOf);
  const without = (pins: readonly string[]) => pins.filter((each) => each !== name);
  const move = (to: number) => pin((pins) => without(pins).toSpliced(to, 0, name));

  return (
    <Menu {...props} align="end">
      <MenuItem onSelect={() => void markRead(project, { channels: [name], views: [] })}>
        <CheckCheck aria-hidden />
        Mark as read
      </MenuItem>
      {place < 0 && !isArchived && (
        <MenuItem onSelect={() => pin((pins) => [...without(pins), name])}>
          <Pin aria-hidden />
          Pin
        </MenuItem>
      )}
      {place >= 0 && (
        <>
          <MenuItem onSelect={() => pin(without)}>
            <PinOff aria-hidden />
            Unpin
          </MenuItem>
          <MenuItem disabled={place === 0} onSelect={() => move(place - 1)}>
            <ArrowUp aria-hidden />
            Move up
          </MenuItem>
          <MenuItem disabled={place === pins.length - 1} onSelect={() => move(place + 1)}>
            <ArrowDown aria-hidden />
            Move down
          </MenuItem>
        </>
      )}
      {mute ? (
        <MenuItem onSelect={() => unmute.mutate(mute.id)}>
          <Bell aria-hidden />
          Unmute
        </MenuItem>
      ) : (
        <MenuItem
          onSelect={() =>
            openDialog((close) => <MuteChannelDialog project={project} channel={name} close={close} />)
          }
        >
          <BellOff aria-hidden />
          Mute…
        </MenuItem>
      )}
      {mayChange && (
        <>
          <MenuSeparator />
          <MenuItem
            onSelect={() =>
              channel && openDialog((close) => <EditChannelDialog channel={channel} close={close} />)
            }
          >
            <Pencil aria-hidden />
            Edit
          </MenuItem>
          <MenuItem onSelect={() => void archiveChannel(project, name, !isArchived)}>
            {isArchived ? <ArchiveRestore aria-hidden /> : <Archive aria-hidden />}
            {isArchived ? "Restore" : "Archive"}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

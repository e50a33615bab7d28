import { Pencil } from "lucide-react";
import type { Channel } from "../../server/wire/channel.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { openDialog } from "../shell/overlays.tsx";

type DialogProps = { channel: Channel; close: () => void };

const EditChannelDialog = lazyPart<DialogProps>(
  async () => (await import("./edit-channel-dialog.tsx")).default,
);

/** The button in a channel's title that opens its dialog. On phones, the menu in the list of channels has it. */
export function EditChannel({ channel }: { channel: Channel }) {
  return (
    <IconButton
      label="Edit channel"
      title="Edit channel"
      onClick={() => openDialog((close) => <EditChannelDialog channel={channel} close={close} />)}
      className="size-7 max-md:hidden"
    >
      <Pencil aria-hidden className="size-3.5" />
    </IconButton>
  );
}

/** Below a channel's title: its description, and whether it is archived. */
export function ChannelLine({ channel, className }: { channel: Channel; className?: string }) {
  if (!channel.description && channel.archivedAt === null) return null;
  return (
    <p
      className={`hostile shrink-0 border-line border-b px-4 py-2 text-muted text-sm md:px-5 ${className ?? ""}`}
    >
      {channel.archivedAt !== null && (
        <span className="mr-2 rounded-full bg-pressed px-2 py-0.5 font-medium text-2xs text-ink">
          Archived
        </span>
      )}
      {channel.description}
    </p>
  );
}

import { Pencil } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Channel } from "../../server/wire/channel.ts";
import { IconButton } from "../components/ui/icon-button.tsx";

const EditChannelDialog = lazy(() => import("./edit-channel-dialog.tsx"));

/** The button in a channel's title that opens its dialog. */
export function EditChannel({ channel }: { channel: Channel }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton
        label="Edit channel"
        title="Edit channel"
        onClick={() => setOpen(true)}
        className="size-7 max-md:size-10"
      >
        <Pencil aria-hidden className="size-3.5" />
      </IconButton>
      <Suspense fallback={null}>
        {open && <EditChannelDialog channel={channel} close={() => setOpen(false)} />}
      </Suspense>
    </>
  );
}

/** What a channel is for, and whether it is archived, under its title. */
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

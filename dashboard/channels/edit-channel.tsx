import { Pencil } from "lucide-react";
import type { Channel } from "../../server/schemas/channel.ts";
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

import { Dialog } from "../components/ui/dialog.tsx";
import { ProjectNav } from "../projects/project-nav.tsx";
import { ChannelNav } from "./channel-nav.tsx";

/** The sidebar's channels and projects, for phones. */
export default function ChannelsSheet({ close }: { close: () => void }) {
  return (
    <Dialog open dismissible onOpenChange={close} title="Channels" form="sheet">
      <div className="-mx-3 flex flex-col">
        <ChannelNav onNavigate={close} />
        <ProjectNav onNavigate={close} />
      </div>
    </Dialog>
  );
}

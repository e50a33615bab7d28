import { Dialog } from "../components/ui/dialog.tsx";
import { ProjectList } from "../projects/project-list.tsx";
import { ChannelNav } from "./channel-nav.tsx";

/** The sidebar's channels and projects, for phones. */
export default function ChannelsSheet({ close }: { close: () => void }) {
  return (
    <Dialog open dismissible onOpenChange={close} title="Channels" form="sheet">
      <div className="-mx-3 flex flex-col">
        <ChannelNav onNavigate={close} />
        <ProjectList onNavigate={close} />
      </div>
    </Dialog>
  );
}

import { Dialog } from "../components/ui/dialog.tsx";
import { PageNav } from "../projects/page-nav.tsx";
import { ProjectNav } from "../projects/project-nav.tsx";
import { ChannelNav } from "./channel-nav.tsx";

/** The sidebar's channels, pages and projects, for phones. */
export default function ChannelsSheet({ close }: { close: () => void }) {
  return (
    <Dialog open dismissible onOpenChange={close} title="Channels" form="sheet">
      <div className="-mx-3 flex flex-col">
        <ChannelNav onNavigate={close} />
        <PageNav onNavigate={close} />
        <ProjectNav onNavigate={close} />
      </div>
    </Dialog>
  );
}

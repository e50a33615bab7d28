import { Link } from "@tanstack/react-router";
import { UserRound } from "lucide-react";
import { navItemClass } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { ProjectNav } from "../projects/project-nav.tsx";
import { ChannelNav } from "./channel-nav.tsx";

/** The sidebar's channels and projects, for phones. */
export default function ChannelsSheet({ close }: { close: () => void }) {
  return (
    <Dialog open dismissible onOpenChange={close} title="Channels" form="sheet">
      <div className="-mx-3 flex flex-col">
        <ChannelNav onNavigate={close} />
        <nav aria-label="Users" className="border-line border-t p-2">
          <Link
            to="/p/$project/users"
            params={{ project: useProjectSlug() }}
            search={{}}
            className={navItemClass}
            activeProps={{ "data-active": true }}
            onClick={close}
          >
            <UserRound aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
            Users
          </Link>
        </nav>
        <ProjectNav onNavigate={close} />
      </div>
    </Dialog>
  );
}

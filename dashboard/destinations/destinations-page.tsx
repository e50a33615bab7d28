import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PackageCheck, Send } from "lucide-react";
import { useState } from "react";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { useConnectionStates } from "../connections/connections.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { DeleteDestinationDialog } from "./delete-destination-dialog.tsx";
import { AddDestinationDialog, EditDestinationDialog } from "./destination-dialogs.tsx";
import { DestinationTable } from "./destination-table.tsx";
import { projectDestinationsQuery } from "./project-destinations.ts";
import { RotateSecretDialog } from "./rotate-secret-dialog.tsx";

function DeliveriesLink({ project }: { project: string }) {
  const { deliveries: state } = useConnectionStates(project);
  return (
    <Link to="/p/$project/deliveries" params={{ project }} search={{}} className={buttonClass()}>
      <PackageCheck aria-hidden className="size-4" />
      Deliveries
      {state && <span className="text-danger">· {state.text}</span>}
    </Link>
  );
}

/** Dialogs for a destination. */
const dialogs = { edit: EditDestinationDialog, rotate: RotateSecretDialog, delete: DeleteDestinationDialog };

export function DestinationsPage() {
  const project = useProjectSlug();
  const query = useQuery(projectDestinationsQuery(project));
  const canManage = useCan()("rules:manage");
  const [adding, setAdding] = useState(false);
  const { opened, open, close } = useItemDialog<ProjectDestination, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  return (
    <>
      <ListPage
        title="Destinations"
        intro="Services that get this project's notifications, besides its members. Rules choose what each one gets."
        query={query}
        empty={{
          icon: <Send aria-hidden />,
          title: "No destinations yet",
          text: canManage
            ? "Add a chat, a push service or your own server."
            : "Owners and admins can add chats, push services and servers.",
        }}
        create={canManage && { label: "Add a destination", open: () => setAdding(true) }}
        links={<DeliveriesLink project={project} />}
        list={(destinations) => (
          <DestinationTable
            destinations={destinations}
            edit={open("edit")}
            rotate={open("rotate")}
            remove={open("delete")}
          />
        )}
      />
      {adding && <AddDestinationDialog close={() => setAdding(false)} />}
      {Opened && <Opened destination={opened.item} close={close} />}
    </>
  );
}

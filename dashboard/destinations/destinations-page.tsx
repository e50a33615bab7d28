import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PackageCheck, Plus, Send } from "lucide-react";
import { useState } from "react";
import type { ProjectDestination } from "../../server/wire/destination.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { deadCountQuery } from "../deliveries/deliveries.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { DeleteDestinationDialog } from "./delete-destination-dialog.tsx";
import { AddDestinationDialog, EditDestinationDialog } from "./destination-dialogs.tsx";
import { DestinationTable } from "./destination-table.tsx";
import { projectDestinationsQuery } from "./project-destinations.ts";
import { RotateSecretDialog } from "./rotate-secret-dialog.tsx";

function DeliveriesLink({ project }: { project: string }) {
  const { data: dead = 0 } = useQuery(deadCountQuery(project));
  return (
    <Link to="/p/$project/deliveries" params={{ project }} search={{}} className={buttonClass()}>
      <PackageCheck aria-hidden className="size-4" />
      Deliveries
      {dead > 0 && <span className="text-danger">· {dead.toLocaleString("en")} failed</span>}
    </Link>
  );
}

/** Dialogs for a destination. */
const dialogs = { edit: EditDestinationDialog, rotate: RotateSecretDialog, delete: DeleteDestinationDialog };

export function DestinationsPage() {
  const project = useProjectSlug();
  const { data: destinations, error, refetch } = useQuery(projectDestinationsQuery(project));
  const can = useCan();
  const [adding, setAdding] = useState(false);
  const [opened, setOpened] = useState<{
    dialog: keyof typeof dialogs;
    destination: ProjectDestination;
  } | null>(null);
  const open = (dialog: keyof typeof dialogs) => (destination: ProjectDestination) =>
    setOpened({ dialog, destination });
  const Opened = opened && dialogs[opened.dialog];
  const add = can("rules:manage") && (
    <Button variant="solid" onClick={() => setAdding(true)}>
      <Plus aria-hidden className="size-4" />
      Add a destination
    </Button>
  );
  return (
    <>
      <PageHeader title="Destinations" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-lg text-muted text-sm">
              Services that get this project's notifications, besides its members. Rules say what is sent to
              which of them.
            </p>
            <div className="flex flex-wrap gap-2">
              <DeliveriesLink project={project} />
              {destinations && destinations.length > 0 && add}
            </div>
          </div>
          {error && !destinations ? (
            <ErrorState title="Destinations couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !destinations ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : destinations.length === 0 ? (
            <EmptyState icon={<Send aria-hidden />} title="No destinations yet" action={add}>
              {can("rules:manage")
                ? "Add a chat, a push service or your own server."
                : "Owners and admins can add chats, push services and servers."}
            </EmptyState>
          ) : (
            <DestinationTable
              destinations={destinations}
              edit={open("edit")}
              rotate={open("rotate")}
              remove={open("delete")}
            />
          )}
        </div>
      </div>
      {adding && <AddDestinationDialog close={() => setAdding(false)} />}
      {Opened && <Opened destination={opened.destination} close={() => setOpened(null)} />}
    </>
  );
}

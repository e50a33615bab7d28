import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Pencil, Power, RefreshCw, Send, Trash2 } from "lucide-react";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { toast } from "../shell/toasts.tsx";
import { destinationKindsQuery, projectDestinationsQuery } from "./project-destinations.ts";

type Actions = {
  edit: (destination: ProjectDestination) => void;
  rotate: (destination: ProjectDestination) => void;
  remove: (destination: ProjectDestination) => void;
};

/** On narrow screens each row is a small card, because the columns don't fit. */
export function DestinationTable({
  destinations,
  ...actions
}: Actions & { destinations: ProjectDestination[] }) {
  const can = useCan();
  return (
    <CardTable columns={["Name", "State"]} hasActions={can("rules:manage")}>
      {destinations.map((destination) => (
        <Row key={destination.id} destination={destination} {...(can("rules:manage") && { actions })} />
      ))}
    </CardTable>
  );
}

type RowProps = { destination: ProjectDestination; actions?: Actions };

function Row({ destination, actions }: RowProps) {
  const project = useProjectSlug();
  const { id, kind, name, enabled } = destination;
  const { data: kinds } = useQuery(destinationKindsQuery(project));
  const test = useMutation({
    mutationFn: () =>
      api<{ ok: true; delivered: boolean; detail: string }>(`/api/project-destinations/${id}/test`, {
        method: "POST",
        query: { project },
      }),
  });
  const toggle = useMutation({
    mutationFn: () =>
      api(`/api/project-destinations/${id}`, {
        method: "PATCH",
        query: { project },
        body: { enabled: !enabled },
      }),
    onSuccess: () => refreshConnections(project, projectDestinationsQuery(project).queryKey),
    onError: (error) =>
      toast({
        title: `The destination wasn't turned ${enabled ? "off" : "on"}`,
        description: errorMessage(error),
        failed: true,
      }),
  });
  return (
    <CardRow>
      <th scope="row" className={clsx("min-w-0 text-left font-medium", !enabled && "text-muted")}>
        <span className="hostile">{name}</span>
        <span className="block font-normal text-muted text-xs">
          {kinds?.find((each) => each.kind === kind)?.label ?? kind}
        </span>
      </th>
      <td className="min-w-0 text-muted">
        <State destination={destination} />
        <div role="status" className="hostile">
          {test.isPending && "Sending a test…"}
          {test.error && <span className="text-danger">{errorMessage(test.error)}</span>}
          {test.data && (
            <span className={test.data.delivered ? "text-good" : "text-danger"}>
              {test.data.delivered ? "Test delivered" : "Test failed"}. {test.data.detail}
            </span>
          )}
        </div>
      </td>
      {actions && (
        <RowActions>
          <RowMenu
            name={name}
            actions={[
              { label: "Send a test", icon: Send, disabled: test.isPending, onSelect: () => test.mutate() },
              { label: "Edit…", icon: Pencil, onSelect: () => actions.edit(destination) },
              kind === "webhook" && {
                label: "Rotate the signing secret…",
                icon: RefreshCw,
                onSelect: () => actions.rotate(destination),
              },
              {
                label: enabled ? "Turn off" : "Turn on",
                icon: Power,
                disabled: toggle.isPending,
                onSelect: () => toggle.mutate(),
              },
              {
                label: "Delete…",
                icon: Trash2,
                danger: true,
                onSelect: () => actions.remove(destination),
              },
            ]}
          />
        </RowActions>
      )}
    </CardRow>
  );
}

/** Whether a destination is on, and how sending to it went. */
function State({ destination }: { destination: ProjectDestination }) {
  const project = useProjectSlug();
  const { id, name, enabled, failingSince, failure, deliveredAt } = destination;
  return (
    <>
      <p>
        {!enabled ? (
          "Off"
        ) : failingSince ? (
          <span className="text-danger">
            Failing since <time dateTime={failingSince}>{formatDate(failingSince, "medium")}</time>
          </span>
        ) : (
          <span className="text-ink">On</span>
        )}
        {" · "}
        {deliveredAt ? (
          <>
            last delivered <RelativeTime at={deliveredAt} form="long" />
          </>
        ) : (
          "nothing delivered yet"
        )}
      </p>
      <p className="hostile text-xs">
        {failure && `${failure} `}
        <Link
          to="/p/$project/deliveries"
          params={{ project }}
          search={{ to: id }}
          className="underline decoration-line-strong underline-offset-2 hover:text-ink"
        >
          Deliveries
          <span className="sr-only"> to {name}</span>
        </Link>
      </p>
    </>
  );
}

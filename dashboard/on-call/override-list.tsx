import { useMutation, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { OnCallOverride, OnCallSchedule } from "../../server/schemas/on-call.ts";
import { useMe } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { IconButton } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { overridesQuery, schedulesQuery } from "./on-call.ts";

/** The overrides of a schedule that haven't ended. Without any, it shows nothing. */
export function OverrideList({ schedule }: { schedule: OnCallSchedule }) {
  const project = useProjectSlug();
  const { data: overrides = [] } = useQuery(overridesQuery(project, schedule.id));
  if (overrides.length === 0) return null;
  return (
    <section aria-label={`Overrides of ${schedule.name}`} className="text-sm">
      <h3 className="font-medium text-muted">Overrides</h3>
      <ul className="divide-y divide-line">
        {overrides.map((override) => (
          <Override key={override.id} schedule={schedule} override={override} />
        ))}
      </ul>
    </section>
  );
}

function Override({ schedule, override }: { schedule: OnCallSchedule; override: OnCallOverride }) {
  const project = useProjectSlug();
  const can = useCan();
  const { account } = useMe();
  const { id, member, from, to, by } = override;
  const remove = useMutation({
    mutationFn: () =>
      api(`/api/on-call/${schedule.id}/overrides/${id}`, { method: "DELETE", query: { project } }),
    onSettled: () => refresh(schedulesQuery(project).queryKey),
    onError: (error) => toast({ title: errorMessage(error) }),
  });
  const mayRemove = can("on-call:manage") || (can("on-call:take") && member.id === account.id);
  return (
    <li className="flex min-h-10 items-center gap-3 py-1">
      <p className="hostile min-w-0 flex-1">
        <span className="font-medium">{member.name}</span>{" "}
        <span className="text-muted">
          {formatDate(from, "soon")} – {formatDate(to, "soon")}
          {by !== null && `, by ${by}`}
        </span>
      </p>
      {mayRemove && (
        <IconButton
          label={`Delete the override of ${member.name} from ${formatDate(from, "soon")}`}
          className="size-8 max-md:size-10"
          disabled={remove.isPending}
          onClick={() => remove.mutate()}
        >
          <X aria-hidden className="size-4" />
        </IconButton>
      )}
    </li>
  );
}

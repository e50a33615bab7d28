import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { roleMay } from "../../server/core/permissions.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { useMe } from "../account/me.ts";
import { api } from "../api.ts";
import { SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { zone } from "../components/zone.ts";
import { membersQuery } from "../members/members.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { MomentFields, momentAt, msOf } from "./moment-fields.tsx";
import { schedulesQuery } from "./on-call.ts";

type Props = {
  schedule: OnCallSchedule;
  /** The shift to begin with, in milliseconds since 1970. */
  range: { fromMs: number; toMs: number };
  close: () => void;
};

/** Takes a shift, or gives it to another member. */
export function TakeShiftDialog({ schedule, range, close }: Props) {
  const project = useProjectSlug();
  const canManage = useCan()("on-call:manage");
  const { account } = useMe();
  const { data: all = [] } = useQuery({ ...membersQuery(project), enabled: canManage });
  const members = all.filter(({ role }) => roleMay(role, "alerts:change"));
  const [member, setMember] = useState(account.id);
  const [from, setFrom] = useState(() => momentAt(range.fromMs));
  const [to, setTo] = useState(() => momentAt(range.toMs));
  const take = useMutation({
    mutationFn: () =>
      api(`/api/on-call/${schedule.id}/overrides`, {
        method: "POST",
        query: { project },
        body: { member, from: String(msOf(from) ?? ""), to: String(msOf(to) ?? "") },
      }),
    onSuccess() {
      void refresh(schedulesQuery(project).queryKey);
      close();
    },
  });
  return (
    <FormDialog
      title={canManage ? "Override a shift" : "Take a shift"}
      description={`Whatever the rotations of ${schedule.name} say. Times are those of ${zone()}.`}
      error={take.error}
      action={member === account.id ? "Take the shift" : "Give the shift"}
      busy={take.isPending}
      submit={() => take.mutate()}
      close={close}
    >
      {canManage && (
        <SelectField
          label="On call"
          value={member}
          onChange={(event) => setMember(event.target.value)}
          member="member"
        >
          {members.map(({ id, name, email }) => (
            <option key={id} value={id}>
              {id === account.id ? `${name || email} (you)` : name || email}
            </option>
          ))}
        </SelectField>
      )}
      <MomentFields label="From" moment={from} change={setFrom} member="from" />
      <MomentFields label="To" moment={to} change={setTo} member="to" />
    </FormDialog>
  );
}

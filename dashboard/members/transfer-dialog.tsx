import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Project } from "../../server/schemas/project.ts";
import { useMe } from "../account/me.ts";
import { api } from "../api.ts";
import { SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { putProject } from "../projects/put-project.ts";
import { membersQuery, refreshMembers } from "./members.ts";

export function TransferDialog({ project, close }: { project: Project; close: () => void }) {
  const { slug } = project;
  const { account } = useMe();
  const queries = useQueryClient();
  const { data: members = [] } = useQuery(membersQuery(slug));
  const others = members.filter(({ id }) => id !== account.id);
  const [accountId, setAccountId] = useState("");
  const transfer = useMutation({
    mutationFn: () =>
      api<{ ok: true; project: Project }>(`/api/projects/${encodeURIComponent(slug)}/transfer`, {
        method: "POST",
        body: { accountId },
      }),
    async onSuccess(response) {
      putProject(queries, response.project);
      await refreshMembers(slug);
      close();
    },
  });

  return (
    <FormDialog
      title="Hand over ownership"
      description="The new owner may do everything, and you become an admin. Only the new owner can undo this."
      error={transfer.error}
      action="Hand over"
      busy={transfer.isPending}
      disabled={accountId === ""}
      danger
      submit={() => transfer.mutate()}
      close={close}
    >
      <SelectField
        label="New owner"
        required
        value={accountId}
        onChange={(event) => setAccountId(event.target.value)}
      >
        <option value="">Choose a member</option>
        {others.map(({ id, name, email }) => (
          <option key={id} value={id}>
            {name} ({email})
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { putProject, useMe } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { SelectField } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
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

  function submit(event: FormEvent) {
    event.preventDefault();
    transfer.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title="Hand over ownership"
      description={
        others.length === 0
          ? "Invite somebody first: only a member can become the owner."
          : "The new owner may do everything, and you become an admin. Only the new owner can undo this."
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {transfer.error && <Alert>{errorMessage(transfer.error)}</Alert>}
        {others.length > 0 && (
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
        )}
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            {others.length === 0 ? "Close" : "Cancel"}
          </Button>
          {others.length > 0 && (
            <Button variant="danger" type="submit" busy={transfer.isPending} disabled={accountId === ""}>
              Hand over
            </Button>
          )}
        </DialogButtons>
      </form>
    </Dialog>
  );
}

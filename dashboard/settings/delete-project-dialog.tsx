import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { meQuery } from "../account/me.ts";
import { api, sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";

export function DeleteProjectDialog({ project, close }: { project: Project; close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [confirm, setConfirm] = useState("");
  const remove = useMutation({
    mutationFn: () =>
      api(`/api/projects/${encodeURIComponent(project.slug)}`, { method: "DELETE", query: { confirm } }),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: meQuery.queryKey });
      close();
      await navigate({ to: "/" });
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    remove.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title="Delete this project?"
      description="Its channels, events and API keys go for good. Whatever uses its keys is refused from now on."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {remove.error && <Alert>{sentence(remove.error)}</Alert>}
        <Field
          label={`Type "${project.slug}" to confirm`}
          value={confirm}
          onChange={(event) => setConfirm(event.target.value)}
          required
          autoComplete="off"
          spellCheck={false}
        />
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="danger" type="submit" busy={remove.isPending} disabled={confirm !== project.slug}>
            Delete project
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

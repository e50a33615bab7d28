import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/wire/limits.ts";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { api } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";

export default function NewProjectDialog({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; project: Project }>("/api/projects", { method: "POST", body: { name } }),
    onSuccess({ project }) {
      putProject(queries, project);
      close();
      void navigate({ to: "/p/$project", params: { project: project.slug }, search: {} });
    },
  });
  const fault = faultOfForm(create.error, ["name"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title="New project"
      description="A project has its own channels, events and API keys."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {fault && <Alert>{fault}</Alert>}
        <Field
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          maxLength={limits.projectNameCharacters}
          autoComplete="off"
          placeholder="Shop"
          fault={faultOf(create.error, "name")}
        />
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="solid" type="submit" busy={create.isPending}>
            Create project
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

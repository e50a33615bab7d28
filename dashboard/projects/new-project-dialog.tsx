import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { limits } from "../../server/core/limits.ts";
import type { Project } from "../../server/schemas/project.ts";
import { api } from "../api.ts";
import { NameDialog } from "../components/ui/name-dialog.tsx";
import { putProject } from "./put-project.ts";

export default function NewProjectDialog({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: (name: string) =>
      api<{ ok: true; project: Project }>("/api/projects", { method: "POST", body: { name } }),
    onSuccess({ project }) {
      putProject(queries, project);
      close();
      void navigate({ to: "/p/$project", params: { project: project.slug }, search: {} });
    },
  });
  return (
    <NameDialog
      title="New project"
      description="A project has its own channels, events and API keys."
      create={create}
      action="Create project"
      close={close}
      field={{ maxLength: limits.projectNameCharacters, placeholder: "Shop" }}
    />
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/wire/limits.ts";
import type { Project, ProjectChange } from "../../server/wire/project.ts";
import { putProject, useMe } from "../account/me.ts";
import { api } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { DeleteProjectDialog } from "./delete-project-dialog.tsx";
import { Group, Panel } from "./group.tsx";
import { RetentionForm } from "./retention-form.tsx";

export function ProjectSettings() {
  const slug = useProjectSlug();
  const { projects } = useMe();
  const project = projects.find((each) => each.slug === slug);
  if (!project) return null;
  const isOwner = project.role === "owner";
  return (
    <Group
      title="Project"
      lead={
        <>
          Its short name for addresses, <code className="font-mono text-xs">{slug}</code>, stays as it is.
        </>
      }
    >
      {/* Another project begins with its own name in the field. */}
      <RenameForm key={slug} project={project} />
      {isOwner && <RetentionForm key={`${slug} retention`} project={project} />}
      <KnownChannelsSwitch key={`${slug} channels`} project={project} />
      {/* On a phone there is no room for it among the pages. */}
      <Link
        to="/p/$project/refused"
        params={{ project: slug }}
        className={buttonClass({}, "self-start md:hidden")}
      >
        Refused events
      </Link>
      {isOwner && <DeleteProject project={project} />}
    </Group>
  );
}

function DeleteProject({ project }: { project: Project }) {
  const [asking, setAsking] = useState(false);
  return (
    <div className="flex">
      <Button look="danger" onClick={() => setAsking(true)}>
        Delete project…
      </Button>
      {asking && <DeleteProjectDialog project={project} close={() => setAsking(false)} />}
    </div>
  );
}

function changeProject(slug: string, change: ProjectChange): Promise<{ ok: true; project: Project }> {
  return api(`/api/projects/${encodeURIComponent(slug)}`, { method: "PATCH", body: change });
}

function KnownChannelsSwitch({ project }: { project: Project }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (knownChannelsOnly: boolean) => changeProject(project.slug, { knownChannelsOnly }),
    onSuccess: (answer) => putProject(queries, answer.project),
  });
  const isOwner = project.role === "owner";
  return (
    <>
      {change.error && <Alert>{change.error.message}</Alert>}
      <Panel>
        <SwitchRow
          label="Known channels only"
          hint={
            isOwner
              ? "Events for channels that the project does not have are refused, and kept to be replayed."
              : "Only the project's owner can change this."
          }
          checked={project.knownChannelsOnly}
          disabled={!isOwner || change.isPending}
          onChange={(on) => change.mutate(on)}
        />
      </Panel>
    </>
  );
}

function RenameForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const [name, setName] = useState(project.name);
  const rename = useMutation({
    mutationFn: () => changeProject(project.slug, { name: name.trim() }),
    onSuccess(answer) {
      putProject(queries, answer.project);
      setName(answer.project.name);
    },
  });
  const fault = faultOfForm(rename.error, ["name"]);
  const changed = name.trim() !== "" && name.trim() !== project.name;

  function submit(event: FormEvent) {
    event.preventDefault();
    rename.mutate();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      {fault && <Alert>{fault}</Alert>}
      <div className="flex items-start gap-3">
        <Field
          className="flex-1"
          label="Project name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          maxLength={limits.projectNameCharacters}
          autoComplete="off"
          fault={faultOf(rename.error, "name")}
        />
        <Button type="submit" className="mt-6.5 h-9 max-md:h-11" busy={rename.isPending} disabled={!changed}>
          Save
        </Button>
      </div>
      <p role="status" className="sr-only">
        {rename.isSuccess && !changed ? "Saved" : ""}
      </p>
    </form>
  );
}

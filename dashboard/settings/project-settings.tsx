import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Project } from "../../server/schemas/project.ts";
import { useMe } from "../account/me.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { putProject } from "../projects/put-project.ts";
import { DeleteProjectDialog } from "./delete-project-dialog.tsx";
import { Group, Panel } from "./group.tsx";
import { ProjectPages } from "./project-pages.tsx";
import { QuotaForm } from "./quota-form.tsx";
import { RetentionForm } from "./retention-form.tsx";
import { SavedField } from "./saved-field.tsx";
import { TimeZoneForm } from "./time-zone-form.tsx";
import { changeProject, useProjectSetting } from "./use-project-setting.ts";

export function ProjectSettings() {
  const project = useProject();
  const can = useCan();
  if (!project) return null;
  const { slug } = project;
  return (
    <Group
      title="Project"
      lead={
        <>
          URL name: <code className="font-mono text-xs">{slug}</code> (can't be changed)
        </>
      }
    >
      {can("project:change") ? (
        <>
          {/* The key shows the field of the other project when the project changes. */}
          <RenameForm key={slug} project={project} />
          <RetentionForm key={`${slug} retention`} project={project} />
          <QuotaForm key={`${slug} quota`} project={project} />
          <TimeZoneForm key={`${slug} time zone`} project={project} />
          <KnownChannelsSwitch key={`${slug} channels`} project={project} />
        </>
      ) : (
        <p className="text-sm">Only owners and admins can change the project's settings.</p>
      )}
      <ProjectPages />
    </Group>
  );
}

export function DeleteProject() {
  const project = useProject();
  const can = useCan();
  const [confirming, setConfirming] = useState(false);
  if (!project || !can("project:delete")) return null;
  return (
    <Group title="Delete project" lead={`All events, channels and settings of ${project.name} are deleted.`}>
      <Button variant="danger" className="self-start" onClick={() => setConfirming(true)}>
        Delete project…
      </Button>
      {confirming && <DeleteProjectDialog project={project} close={() => setConfirming(false)} />}
    </Group>
  );
}

function useProject(): Project | undefined {
  const slug = useProjectSlug();
  return useMe().projects.find((each) => each.slug === slug);
}

function KnownChannelsSwitch({ project }: { project: Project }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (knownChannelsOnly: boolean) => changeProject(project.slug, { knownChannelsOnly }),
    onSuccess: (saved) => putProject(queries, saved),
  });
  return (
    <>
      {change.error && <Alert>{change.error.message}</Alert>}
      <Panel>
        <SwitchRow
          label="Reject unknown channels"
          hint="Events for channels that don't exist are rejected; you can fix and resend them."
          checked={project.knownChannelsOnly}
          disabled={change.isPending}
          onChange={(on) => change.mutate(on)}
        />
      </Panel>
    </>
  );
}

function RenameForm({ project }: { project: Project }) {
  const edit = useProjectSetting(project, {
    label: "Project name",
    textOf: ({ name }) => name,
    changeOf: (name) => ({ name: name.trim() }),
  });
  const { text } = edit.form;
  const changed = edit.isChanged && text.trim() !== "";

  return (
    <>
      <SavedField save={edit} changed={changed} onSubmit={() => edit.submit()}>
        <Field
          className="flex-1"
          label="Project name"
          value={text}
          onChange={(event) => edit.change({ text: event.target.value })}
          required
          maxLength={limits.projectNameCharacters}
          autoComplete="off"
          member="name"
        />
      </SavedField>
      {edit.dialog}
    </>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Project } from "../../server/wire/project.ts";
import { Field } from "../components/ui/field.tsx";
import { putProject } from "../projects/put-project.ts";
import { changeProject, SavedField } from "./saved-field.tsx";

/** How many events a project can record on a day. */
export function QuotaForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const textOf = ({ eventsPerDay }: Project) => (eventsPerDay === null ? "" : String(eventsPerDay));
  const [text, setText] = useState(textOf(project));
  const eventsPerDay = text === "" ? null : Number(text);
  const save = useMutation({
    mutationFn: () => changeProject(project.slug, { eventsPerDay }),
    onSuccess(response) {
      putProject(queries, response.project);
      setText(textOf(response.project));
    },
  });
  return (
    <SavedField
      save={save}
      error={save.error}
      changed={eventsPerDay !== project.eventsPerDay}
      onSubmit={() => save.mutate()}
    >
      <Field
        className="flex-1"
        label="Events a day"
        hint="More are rejected until midnight UTC. Empty is unlimited."
        type="number"
        inputMode="numeric"
        min={1}
        max={limits.projectEventsPerDay}
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="Unlimited"
        member="eventsPerDay"
      />
    </SavedField>
  );
}

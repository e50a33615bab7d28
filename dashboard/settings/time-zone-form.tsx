import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { browserZone } from "../components/zone.ts";
import { changeProject, SavedField } from "./saved-field.tsx";

/** The time zone of a project's days and times. */
export function TimeZoneForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const [timeZone, setTimeZone] = useState(project.timeZone ?? "");
  const save = useMutation({
    mutationFn: () => changeProject(project.slug, { timeZone: timeZone || null }),
    onSuccess(response) {
      putProject(queries, response.project);
      setTimeZone(response.project.timeZone ?? "");
    },
  });
  return (
    <SavedField
      save={save}
      error={save.error}
      changed={timeZone !== (project.timeZone ?? "")}
      onSubmit={() => save.mutate()}
    >
      <TimeZoneField
        className="flex-1"
        label="Time zone"
        hint="Days begin in it on boards and charts, and times are shown in it, for everybody in the project."
        none={`Each person's own (yours: ${browserZone})`}
        value={timeZone}
        change={setTimeZone}
        member="timeZone"
      />
    </SavedField>
  );
}

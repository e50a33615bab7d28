import type { Project } from "../../server/schemas/project.ts";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { browserZone } from "../components/zone.ts";
import { SavedField } from "./saved-field.tsx";
import { useProjectSetting } from "./use-project-setting.ts";

/** The time zone of a project's days and times. */
export function TimeZoneForm({ project }: { project: Project }) {
  const edit = useProjectSetting(project, {
    label: "Time zone",
    textOf: ({ timeZone }) => timeZone ?? "",
    changeOf: (text) => ({ timeZone: text || null }),
    empty: "Each person's own",
  });
  return (
    <>
      <SavedField save={edit} changed={edit.isChanged} onSubmit={() => edit.submit()}>
        <TimeZoneField
          className="flex-1"
          label="Time zone"
          hint="Days begin in it on boards and charts, and times are shown in it, for everybody in the project."
          none={`Each person's own (yours: ${browserZone})`}
          value={edit.form.text}
          change={(text) => edit.change({ text })}
          member="timeZone"
        />
      </SavedField>
      {edit.dialog}
    </>
  );
}

import { limits } from "../../server/core/limits.ts";
import type { Project } from "../../server/schemas/project.ts";
import { Field } from "../components/ui/field.tsx";
import { SavedField } from "./saved-field.tsx";
import { useProjectSetting } from "./use-project-setting.ts";

/** How many events a project can record on a day. */
export function QuotaForm({ project }: { project: Project }) {
  const edit = useProjectSetting(project, {
    label: "Events a day",
    textOf: ({ eventsPerDay }) => (eventsPerDay === null ? "" : String(eventsPerDay)),
    changeOf: (text) => ({ eventsPerDay: text === "" ? null : Number(text) }),
    empty: "Unlimited",
  });
  return (
    <>
      <SavedField save={edit} changed={edit.isChanged} onSubmit={() => edit.submit()}>
        <Field
          className="flex-1"
          label="Events a day"
          hint="More are rejected until midnight UTC. Empty is unlimited."
          type="number"
          inputMode="numeric"
          min={1}
          max={limits.projectEventsPerDay}
          value={edit.form.text}
          onChange={(event) => edit.change({ text: event.target.value })}
          placeholder="Unlimited"
          member="eventsPerDay"
        />
      </SavedField>
      {edit.dialog}
    </>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { limits } from "../../server/limits.ts";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { Field } from "../components/ui/field.tsx";
import { changeProject, SavedField } from "./saved-field.tsx";
import { useDraft } from "./use-draft.ts";

/** How many events a project can record on a day. */
export function QuotaForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const textOf = ({ eventsPerDay }: Project) => (eventsPerDay === null ? "" : String(eventsPerDay));
  const { text, setText, changed, undo, onSaved } = useDraft(`${project.slug} quota`, textOf(project));
  const numberIn = (typed: string) => (typed === "" ? null : Number(typed));
  const save = useMutation({
    mutationFn: () => changeProject(project.slug, { eventsPerDay: numberIn(text) }),
    onSuccess(response) {
      putProject(queries, response.project);
      onSaved((typed) => numberIn(typed) === response.project.eventsPerDay);
    },
  });
  return (
    <SavedField save={save} error={save.error} changed={changed} onSubmit={() => save.mutate()} undo={undo}>
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

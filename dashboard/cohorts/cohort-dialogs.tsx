import { limits } from "../../server/core/limits.ts";
import type { Cohort } from "../../server/schemas/cohort.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts } from "../edits/differences.ts";
import {
  type FormProps,
  type ItemKind,
  useDeletedItem,
  useEditedItem,
  useNewItem,
} from "../edits/item-forms.ts";
import { type CohortForm, cohortOf, cohortParts, formOf, isComplete, newCohortForm } from "./cohort-form.ts";
import { CohortPreviewNote } from "./cohort-preview.tsx";
import { cohortsQuery } from "./cohorts.ts";
import { ConditionList } from "./condition-fields.tsx";

const kind: ItemKind<Cohort, CohortForm> = {
  noun: "cohort",
  path: "/api/cohorts",
  formOf,
  bodyOf: cohortOf,
  keys: (project) => [cohortsQuery(project).queryKey],
};

/**
 * Asks for a new cohort.
 *
 * @param given - the conditions that it begins with
 * @param created - called with the cohort, before the dialog closes
 */
export function NewCohortDialog(props: {
  given?: CohortForm;
  created?: (cohort: Cohort) => void;
  close: () => void;
}) {
  const dialog = useNewItem(kind, { ...props, initial: newCohortForm });
  return <CohortDialog title="New cohort" action="Create cohort" {...dialog} />;
}

export function EditCohortDialog({ cohort, close }: { cohort: Cohort; close: () => void }) {
  const { props, conflict } = useEditedItem(kind, { item: cohort, compare: byParts(cohortParts), close });
  return (
    <>
      <CohortDialog title="Edit cohort" action="Save" {...props} />
      {conflict}
    </>
  );
}

export function DeleteCohortDialog({
  cohort,
  deleted,
  close,
}: {
  cohort: Cohort;
  deleted?: () => void;
  close: () => void;
}) {
  const remove = useDeletedItem(kind, { item: cohort, deleted, close });
  return (
    <ConfirmDialog title="Delete this cohort?" action="Delete" mutation={remove} close={close}>
      Searches can't name <b className="hostile font-semibold text-ink">{cohort.name}</b> any more. Its people
      and their events stay.
    </ConfirmDialog>
  );
}

/** `action` is the label of the button that submits. */
type Props = FormProps<CohortForm> & { title: string; action: string };

function CohortDialog({ form, onChange, ...dialog }: Props) {
  return (
    <FormDialog wide {...dialog}>
      <Field
        label="Name"
        value={form.name}
        onChange={(event) => onChange({ ...form, name: event.target.value })}
        required
        maxLength={limits.cohortNameCharacters}
        placeholder="Active customers"
        autoComplete="off"
        hint="Searches name it: cohort:NAME."
        member="name"
      />
      <ConditionList
        conditions={form.conditions}
        onChange={(conditions) => onChange({ ...form, conditions })}
        match={form.match}
        onMatch={(match) => onChange({ ...form, match })}
        member="conditions"
      />
      <CohortPreviewNote form={form} isComplete={isComplete(form)} />
    </FormDialog>
  );
}

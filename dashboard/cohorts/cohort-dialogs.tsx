import { useMutation } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Cohort } from "../../server/schemas/cohort.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { type CohortForm, cohortOf, cohortParts, formOf, isComplete, newCohortForm } from "./cohort-form.ts";
import { CohortPreviewNote } from "./cohort-preview.tsx";
import { cohortsQuery, refreshCohorts } from "./cohorts.ts";
import { ConditionList } from "./condition-fields.tsx";

/**
 * Asks for a new cohort.
 *
 * @param given - the conditions that it begins with
 * @param created - called with the cohort, before the dialog closes
 */
export function NewCohortDialog({
  given,
  created,
  close,
}: {
  given?: CohortForm;
  created?: (cohort: Cohort) => void;
  close: () => void;
}) {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(useDraftKey("cohort")(""), newCohortForm, given);
  const create = useMutation({
    mutationFn: () =>
      api<{ cohort: Cohort }>("/api/cohorts", { method: "POST", query: { project }, body: cohortOf(form) }),
    onSuccess({ cohort }) {
      void refreshCohorts(project);
      discard();
      created?.(cohort);
      close();
    },
  });
  return (
    <CohortDialog
      title="New cohort"
      form={form}
      onChange={change}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create cohort"
      close={() => {
        discard();
        close();
      }}
    />
  );
}

export function EditCohortDialog({ cohort, close }: { cohort: Cohort; close: () => void }) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Cohort, CohortForm>({
    thing: cohort,
    what: "cohort",
    formOf,
    compare: byParts(cohortParts),
    keys: [cohortsQuery(project).queryKey],
    draft: useDraftKey("cohort")(cohort.id),
    async save(form, base) {
      const body = changedMembers(cohortOf(form), cohortOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/cohorts/${cohort.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved() {
      void refreshCohorts(project);
      close();
    },
    gone: {
      code: "cohort-unknown",
      recreate: (form) => api("/api/cohorts", { method: "POST", query: { project }, body: cohortOf(form) }),
    },
  });
  return (
    <>
      <CohortDialog
        title="Edit cohort"
        form={form}
        onChange={change}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={() => {
          discard();
          close();
        }}
      />
      {dialog}
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
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/cohorts/${cohort.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshCohorts(project);
      deleted?.();
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this cohort?" action="Delete" mutation={remove} close={close}>
      Searches can't name <b className="hostile font-semibold text-ink">{cohort.name}</b> any more. Its people
      and their events stay.
    </ConfirmDialog>
  );
}

type Props = {
  title: string;
  form: CohortForm;
  onChange: (form: CohortForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

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

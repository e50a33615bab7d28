import { type UseMutationResult, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Rule } from "../../server/wire/rule.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { membersQuery } from "../members/members.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { RecipientFields } from "./recipient-fields.tsx";
import { formOf, newRuleForm, type RuleForm, ruleOf } from "./rule-form.ts";
import { RulePreview } from "./rule-preview.tsx";
import { rulesQuery } from "./rules.ts";
import { SearchField } from "./search-field.tsx";
import { WhenFields } from "./when-fields.tsx";

export function NewRuleDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const create = useMutation({
    mutationFn: (form: RuleForm) =>
      api("/api/rules", { method: "POST", query: { project }, body: ruleOf(form) }),
    onSuccess() {
      void refresh(rulesQuery(project).queryKey);
      close();
    },
  });
  return (
    <RuleDialog title="New rule" initial={newRuleForm()} save={create} action="Create rule" close={close} />
  );
}

export function EditRuleDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const project = useProjectSlug();
  const save = useMutation({
    async mutationFn(form: RuleForm) {
      const changed = ruleOf(form);
      const body = Object.fromEntries(
        Object.entries(changed).filter(
          ([name, value]) => JSON.stringify(value) !== JSON.stringify(rule[name as keyof typeof changed]),
        ),
      );
      if (Object.keys(body).length === 0) return;
      await api(`/api/rules/${rule.id}`, { method: "PATCH", query: { project }, body });
    },
    onSuccess() {
      void refresh(rulesQuery(project).queryKey);
      close();
    },
  });
  return <RuleDialog title="Edit rule" initial={formOf(rule)} save={save} action="Save" close={close} />;
}

export function DeleteRuleDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/rules/${rule.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refresh(rulesQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this rule?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{rule.name}</b> notifies nobody any more. What it has already
      notified of is still sent. This can't be undone.
    </ConfirmDialog>
  );
}

type Props = {
  title: string;
  initial: RuleForm;
  save: UseMutationResult<unknown, Error, RuleForm>;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

/** Asks for a rule, and shows what it would have notified of. */
function RuleDialog({ title, initial, save, action, close }: Props) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const { data: destinations = [] } = useQuery(projectDestinationsQuery(project));
  const [form, setForm] = useState(initial);
  const { name, q, urgent } = form;

  return (
    <FormDialog
      wide
      title={title}
      error={save.error}
      action={action}
      busy={save.isPending}
      submit={() => save.mutate(form)}
      close={close}
    >
      <Field
        label="Name"
        value={name}
        onChange={(event) => setForm({ ...form, name: event.target.value })}
        required
        maxLength={limits.ruleNameCharacters}
        placeholder="Failed payments"
        autoComplete="off"
        member="name"
      />
      <SearchField member="q" q={q} onChange={(q) => setForm({ ...form, q })} />
      <WhenFields form={form} onChange={setForm} />
      <RulePreview q={q} when={ruleOf(form).when} />
      <RecipientFields form={form} onChange={setForm} members={members} destinations={destinations} />
      <Choice
        type="checkbox"
        name="urgent"
        label="Urgent"
        hint="Also notifies during quiet hours"
        checked={urgent}
        onChange={(urgent) => setForm({ ...form, urgent })}
      />
    </FormDialog>
  );
}

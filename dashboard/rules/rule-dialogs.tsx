import { useMutation, useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Rule } from "../../server/schemas/rule.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { membersQuery } from "../members/members.ts";
import { schedulesQuery } from "../on-call/on-call.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { AlertFields } from "./alert-fields.tsx";
import { EscalationFields } from "./escalation-fields.tsx";
import { ForEachFields } from "./for-each-fields.tsx";
import { RecipientFields } from "./recipient-fields.tsx";
import { formOf, newRuleForm, type RuleForm, ruleOf } from "./rule-form.ts";
import { ruleParts } from "./rule-parts.ts";
import { RulePreview } from "./rule-preview.tsx";
import { rulesQuery } from "./rules.ts";
import { SearchField } from "./search-field.tsx";
import { WhenFields } from "./when-fields.tsx";

/** @param initial - what the form begins with. Default: what was entered before a reload, or nothing. */
export function NewRuleDialog({ close, initial }: { close: () => void; initial?: RuleForm }) {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(useDraftKey("rule")(""), newRuleForm, initial);
  const create = useMutation({
    mutationFn: () => api("/api/rules", { method: "POST", query: { project }, body: ruleOf(form) }),
    onSuccess() {
      void refresh(rulesQuery(project).queryKey);
      discard();
      close();
    },
  });
  return (
    <RuleDialog
      title="New rule"
      form={form}
      onChange={change}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create rule"
      close={() => {
        discard();
        close();
      }}
    />
  );
}

export function EditRuleDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const { data: schedules = [] } = useQuery(schedulesQuery(project));
  const { data: destinations = [] } = useQuery(projectDestinationsQuery(project));
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Rule, RuleForm>({
    thing: rule,
    what: "rule",
    formOf,
    compare: byParts(ruleParts({ members, schedules, destinations })),
    keys: [rulesQuery(project).queryKey],
    draft: useDraftKey("rule")(rule.id),
    async save(form, base) {
      const body = changedMembers(ruleOf(form), ruleOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/rules/${rule.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved: close,
    gone: {
      code: "rule-unknown",
      recreate: (form, { enabled }) =>
        api("/api/rules", { method: "POST", query: { project }, body: { ...ruleOf(form), enabled } }),
    },
  });
  return (
    <>
      <RuleDialog
        title="Edit rule"
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
      <b className="font-semibold text-ink">{rule.name}</b> no longer notifies anyone. Notifications that it
      has already made are still sent. This can't be undone.
    </ConfirmDialog>
  );
}

type Props = {
  title: string;
  form: RuleForm;
  onChange: (form: RuleForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

/** Asks for a rule, and shows the alerts that it would have raised. */
function RuleDialog({ form, onChange, ...dialog }: Props) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const { data: schedules = [] } = useQuery(schedulesQuery(project));
  const { data: destinations = [] } = useQuery(projectDestinationsQuery(project));
  const { name, q, urgent } = form;

  return (
    <FormDialog wide {...dialog}>
      <Field
        label="Name"
        value={name}
        onChange={(event) => onChange({ ...form, name: event.target.value })}
        required
        maxLength={limits.ruleNameCharacters}
        placeholder="Failed payments"
        autoComplete="off"
        member="name"
      />
      <SearchField member="q" q={q} onChange={(q) => onChange({ ...form, q })} />
      <WhenFields form={form} onChange={onChange} />
      <ForEachFields form={form} onChange={onChange} />
      <RulePreview {...ruleOf(form)} />
      <RecipientFields form={form} onChange={onChange} {...{ members, schedules, destinations }} />
      <Choice
        type="checkbox"
        name="urgent"
        label="Urgent"
        hint="Also notifies during quiet hours"
        checked={urgent}
        onChange={(urgent) => onChange({ ...form, urgent })}
      />
      <AlertFields form={form} onChange={onChange} />
      <EscalationFields form={form} onChange={onChange} {...{ members, schedules, destinations }} />
    </FormDialog>
  );
}

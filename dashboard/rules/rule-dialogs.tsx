import { useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Rule } from "../../server/schemas/rule.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { byParts } from "../edits/differences.ts";
import {
  type FormProps,
  type ItemKind,
  useDeletedItem,
  useEditedItem,
  useNewItem,
} from "../edits/item-forms.ts";
import { membersQuery } from "../members/members.ts";
import { schedulesQuery } from "../on-call/on-call.ts";
import { useProjectSlug } from "../projects/current-project.ts";
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

const kind: ItemKind<Rule, RuleForm> = {
  noun: "rule",
  path: "/api/rules",
  formOf,
  bodyOf: ruleOf,
  newBodyOf: (_, base) => (base ? { enabled: base.enabled } : {}),
  keys: (project) => [rulesQuery(project).queryKey],
};

/** @param initial - what the form begins with. Default: what was entered before a reload, or nothing. */
export function NewRuleDialog({ close, initial }: { close: () => void; initial?: RuleForm }) {
  const dialog = useNewItem(kind, { initial: newRuleForm, given: initial, close });
  return <RuleDialog title="New rule" action="Create rule" {...dialog} />;
}

export function EditRuleDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const { data: schedules = [] } = useQuery(schedulesQuery(project));
  const { data: destinations = [] } = useQuery(projectDestinationsQuery(project));
  const compare = byParts(ruleParts({ members, schedules, destinations }));
  const { props, conflict } = useEditedItem(kind, { item: rule, compare, close });
  return (
    <>
      <RuleDialog title="Edit rule" action="Save" {...props} />
      {conflict}
    </>
  );
}

export function DeleteRuleDialog({ rule, close }: { rule: Rule; close: () => void }) {
  const remove = useDeletedItem(kind, { item: rule, close });
  return (
    <ConfirmDialog title="Delete this rule?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{rule.name}</b> no longer notifies anyone. Notifications that it
      has already made are still sent. This can't be undone.
    </ConfirmDialog>
  );
}

/** `action` is the label of the button that submits. */
type Props = FormProps<RuleForm> & { title: string; action: string };

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

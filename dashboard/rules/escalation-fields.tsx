import { Plus, X } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import type { Member } from "../../server/schemas/member.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { Button, IconButton } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { RecipientFields } from "./recipient-fields.tsx";
import { opensAlert, type RuleForm, type StepForm } from "./rule-form.ts";

type Props = {
  form: RuleForm;
  onChange: (form: RuleForm) => void;
  members: Member[];
  schedules: OnCallSchedule[];
  destinations: ProjectDestination[];
};

const stepMinutes = 15;

/** Who else is notified while nobody acknowledges the rule's alert. */
export function EscalationFields({ form, onChange, members, schedules, destinations }: Props) {
  if (!opensAlert(form)) return null;
  const { escalation } = form;
  const change = (steps: StepForm[]) => onChange({ ...form, escalation: steps });
  const last = Number(escalation.at(-1)?.minutes ?? 0);
  return (
    <>
      {escalation.map((step, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps have no name of their own, and their fields keep no state
        <fieldset key={at} className="flex flex-col gap-4 rounded-lg border border-line p-4">
          <legend className="px-1 font-medium text-sm">Escalation, step {at + 1}</legend>
          <div className="flex items-end gap-2">
            <Field
              label="Minutes without an acknowledgement"
              member={`escalation/${at}/minutes`}
              className="flex-1"
              type="number"
              inputMode="numeric"
              required
              min={1}
              max={limits.ruleMinutes}
              value={step.minutes}
              onChange={(event) => change(escalation.with(at, { ...step, minutes: event.target.value }))}
            />
            <IconButton
              label={`Remove step ${at + 1}`}
              className="size-9 max-md:size-11"
              onClick={() => change(escalation.toSpliced(at, 1))}
            >
              <X aria-hidden className="size-4" />
            </IconButton>
          </div>
          <RecipientFields
            label="Then notify"
            member={`escalation/${at}/to`}
            form={step}
            onChange={(changed) => change(escalation.with(at, changed))}
            members={members}
            schedules={schedules}
            destinations={destinations}
          />
        </fieldset>
      ))}
      {escalation.length < limits.escalationSteps && (
        <Button
          className="self-start"
          onClick={() =>
            change([
              ...escalation,
              {
                minutes: String(last + stepMinutes),
                everyone: true,
                members: [],
                schedules: [],
                destinations: [],
                fallback: "",
              },
            ])
          }
        >
          <Plus aria-hidden className="size-4" />
          {escalation.length === 0 ? "Escalate if nobody acknowledges" : "Add a step"}
        </Button>
      )}
    </>
  );
}

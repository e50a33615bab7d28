import { limits } from "../../server/core/limits.ts";
import { Field, SelectField } from "../components/ui/field.tsx";
import { opensAlert, type RuleForm } from "./rule-form.ts";
import type { Unit } from "./rules.ts";
import { SearchField } from "./search-field.tsx";

type Props = { form: RuleForm; onChange: (form: RuleForm) => void };

/** What resolves the rule's alert, and how often it reminds until then. */
export function AlertFields({ form, onChange }: Props) {
  if (form.type === "digest") return null;
  const { resolve, remind, remindUnit } = form;
  return (
    <>
      <SearchField
        member="resolve"
        label="Resolved by (optional)"
        hint={hints[form.type]}
        placeholder="state=ok"
        q={resolve}
        onChange={(resolve) => onChange({ ...form, resolve })}
      />
      {opensAlert(form) && (
        <div className="grid grid-cols-2 gap-x-2 gap-y-4">
          <Field
            label="Remind every (optional)"
            member="remindMinutes"
            value={remind}
            onChange={(event) => onChange({ ...form, remind: event.target.value })}
            type="number"
            inputMode="numeric"
            min={remindUnit === "minutes" ? limits.reminderMinutesMin : 1}
            placeholder="Never"
            hint="Until somebody acknowledges or resolves the alert."
            autoComplete="off"
          />
          <SelectField
            label="Reminders in"
            value={remindUnit}
            onChange={(event) => onChange({ ...form, remindUnit: event.target.value as Unit })}
          >
            <option value="minutes">minutes</option>
            <option value="hours">hours</option>
            <option value="days">days</option>
          </SelectField>
        </div>
      )}
    </>
  );
}

const forEvents = "A search for events that end it. With it, the rule opens an alert when it notifies.";
const hints = {
  each: forEvents,
  burst: forEvents,
  number: forEvents,
  silence: "A search for events that end the alert, besides those that the rule waits for.",
  count: "A search for events that end the alert. Without it, it ends once there are fewer events.",
  metric: "A search for events that end the alert. Without it, it ends once the value is back.",
};

import { limits } from "../../server/core/limits.ts";
import { Field, SelectField } from "../components/ui/field.tsx";
import { opensAlert, type RuleForm } from "./rule-form.ts";

type Props = { form: RuleForm; onChange: (form: RuleForm) => void };

/** Whether a rule takes all events together, or follows each value by itself. */
export function ForEachFields({ form, onChange }: Props) {
  const { type, each, eachTag, forgetDays, groupBy } = form;
  if (type === "digest") return null;
  return (
    <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
      <SelectField
        label="Follow"
        member="forEach"
        value={each}
        onChange={(event) => onChange({ ...form, each: event.target.value as RuleForm["each"] })}
        hint={each === "" ? undefined : "Each has its own alert. New ones join by themselves."}
      >
        <option value="">all events together</option>
        <option value="tag">each value of a tag</option>
        <option value="user">each user</option>
        <option value="channel">each channel</option>
        <option value="name">each event name</option>
      </SelectField>
      {each === "tag" && (
        <Field
          label="Tag to follow"
          value={eachTag}
          onChange={(event) => onChange({ ...form, eachTag: event.target.value })}
          required
          placeholder="service"
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
      {each !== "" && (type === "silence" || type === "metric") && (
        <Field
          label="Forget after days"
          member="forgetDays"
          value={forgetDays}
          onChange={(event) => onChange({ ...form, forgetDays: event.target.value })}
          type="number"
          inputMode="numeric"
          min={1}
          max={limits.ruleForgetDays}
          placeholder="Never"
          hint="Without an event. This ends its alert."
          autoComplete="off"
        />
      )}
      {each !== "" && opensAlert(form) && (
        <Field
          label="Group alerts by tag (optional)"
          member="groupBy"
          value={groupBy}
          onChange={(event) => onChange({ ...form, groupBy: event.target.value })}
          placeholder="host"
          hint="The first one notifies at once, further ones together."
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
    </div>
  );
}

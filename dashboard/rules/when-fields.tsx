import { limits } from "../../server/core/limits.ts";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { MetricFields } from "./metric-fields.tsx";
import { type RuleForm, type Weekday, type WhenType, weekdays, withType } from "./rule-form.ts";
import type { Unit } from "./rules.ts";

const types: Record<WhenType, { label: string; hint: string }> = {
  each: { label: "Each event", hint: "At once" },
  burst: { label: "Bursts", hint: "The first event, then summaries" },
  digest: { label: "Digest", hint: "Events together, at fixed times" },
  silence: { label: "Silence", hint: "If no event comes, and again when one does" },
  count: { label: "Count", hint: "If there are too many events" },
  number: { label: "Number", hint: "If a number in a tag is too large" },
  metric: { label: "Metric", hint: "If a value of many events is too high or low, or changes" },
};

type Props = { form: RuleForm; onChange: (form: RuleForm) => void };

/** When a rule notifies. */
export function WhenFields({ form, onChange }: Props) {
  const { type, every } = form;
  const change = (changed: Partial<RuleForm>) => onChange({ ...form, ...changed });
  const text = (name: "amount" | "above" | "tag" | "at") => ({
    required: true,
    value: form[name],
    onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
    autoComplete: "off",
  });
  return (
    <>
      <Choices label="When to notify" className="sm:grid-cols-2">
        {(Object.keys(types) as WhenType[]).map((each) => (
          <Choice
            key={each}
            type="radio"
            name="when"
            {...types[each]}
            checked={type === each}
            onChange={() => onChange(withType(form, each))}
          />
        ))}
      </Choices>
      {(type === "count" || type === "number") && (
        <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
          {type === "number" && (
            <Field
              label="Tag"
              member="when/tag"
              {...text("tag")}
              placeholder="amount"
              autoCapitalize="none"
            />
          )}
          <Field
            label={type === "count" ? "More events than" : "Above"}
            member="when/above"
            {...text("above")}
            type="number"
            {...(type === "count" ? { min: 1, max: limits.ruleCount } : { step: "any" })}
          />
        </div>
      )}
      {(type === "burst" || type === "silence" || type === "count") && (
        <div className="grid grid-cols-2 gap-x-2 gap-y-4">
          <Field
            label={{ burst: "A summary every", silence: "No event for", count: "Within" }[type]}
            member="when/minutes"
            {...text("amount")}
            type="number"
            inputMode="numeric"
            min={1}
          />
          <SelectField
            label="Unit"
            value={form.unit}
            onChange={(event) => change({ unit: event.target.value as Unit })}
          >
            <option value="minutes">minutes</option>
            <option value="hours">hours</option>
            <option value="days">days</option>
          </SelectField>
        </div>
      )}
      {type === "metric" && <MetricFields form={form} change={change} />}
      {type === "digest" && (
        <div className="grid grid-cols-2 gap-x-2 gap-y-4">
          <SelectField
            label="Every"
            value={every}
            onChange={(event) => change({ every: event.target.value as RuleForm["every"] })}
          >
            <option value="hour">hour</option>
            <option value="day">day</option>
            <option value="week">week</option>
          </SelectField>
          {every === "week" && (
            <SelectField
              label="On"
              value={form.weekday}
              onChange={(event) => change({ weekday: event.target.value as Weekday })}
            >
              {weekdays.map((day) => (
                <option key={day} value={day}>
                  {day.charAt(0).toUpperCase() + day.slice(1)}
                </option>
              ))}
            </SelectField>
          )}
          {every !== "hour" && <Field label="At" member="when/at" {...text("at")} type="time" />}
          <TimeZoneField
            label="Time zone"
            member="when/timeZone"
            value={form.timeZone}
            change={(timeZone) => change({ timeZone })}
          />
        </div>
      )}
    </>
  );
}

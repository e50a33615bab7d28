import { limits } from "../../server/core/limits.ts";
import type { RuleMeasure } from "../../server/schemas/metric-condition.ts";
import { Button } from "../components/ui/button.tsx";
import { Choice, Field, SelectField } from "../components/ui/field.tsx";
import { type MetricForm, measuresTag } from "./metric-form.ts";
import { metricLabels } from "./metric-text.ts";
import type { Unit } from "./rules.ts";
import { SearchField } from "./search-field.tsx";

type Props = { form: MetricForm; change: (changed: Partial<MetricForm>) => void };

/** The fields of a metric: the measure and its threshold. */
export function MetricFields({ form, change }: Props) {
  const { metric, compare, against } = form;
  const percent = against !== "" || metric === "ratio" || metric === "conversion" ? " (%)" : "";
  const number = (name: "above" | "clear" | "pending" | "amount" | "windowHours") => ({
    type: "number",
    value: form[name],
    onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
    autoComplete: "off",
  });
  return (
    <>
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        <SelectField
          label="Measure"
          member="when/measure/metric"
          value={metric}
          onChange={(event) => change({ metric: event.target.value as RuleMeasure["metric"] })}
        >
          {Object.entries(metricLabels).map(([each, label]) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </SelectField>
        {measuresTag(metric) && (
          <Field
            label="Tag"
            member="when/measure/tag"
            value={form.tag}
            onChange={(event) => change({ tag: event.target.value })}
            required
            maxLength={limits.tagKeyCharacters}
            placeholder="amount"
            autoCapitalize="none"
            autoComplete="off"
          />
        )}
      </div>
      {metric === "ratio" && (
        <SearchField
          member="when/measure/of"
          label="In percent of"
          hint="A search for the events that are 100 percent. Empty: all events."
          placeholder="channel:payments"
          q={form.of}
          onChange={(of) => change({ of })}
        />
      )}
      {metric === "conversion" && <StepFields form={form} change={change} />}
      <div className="grid grid-cols-2 gap-x-2 gap-y-4">
        <Field
          label="Over the last"
          member="when/minutes"
          {...number("amount")}
          required
          min={1}
          inputMode="numeric"
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
        <SelectField
          label="Look at"
          member="when/against"
          value={against}
          onChange={(event) => {
            const next = event.target.value as MetricForm["against"];
            change({ against: next, ...(next === "" && compare === "change" && { compare: "above" }) });
          }}
        >
          <option value="">the value</option>
          <option value="before">its change against the time before</option>
          <option value="week">its change against a week before</option>
        </SelectField>
        <SelectField
          label="Alert"
          value={compare}
          onChange={(event) => change({ compare: event.target.value as MetricForm["compare"] })}
        >
          <option value="above">above</option>
          <option value="below">below</option>
          {against !== "" && <option value="change">up or down by more than</option>}
        </SelectField>
        <Field
          label={`Threshold${percent}`}
          member={`when/${compare}`}
          {...number("above")}
          required
          step="any"
          {...(compare === "below" && against !== "" && { hint: "A fall is below zero: -30." })}
        />
        <Field
          label={`Ends at${percent} (optional)`}
          member="when/clear"
          {...number("clear")}
          step="any"
          placeholder={form.above}
        />
        <Field
          label="For minutes (optional)"
          member="when/pendingMinutes"
          {...number("pending")}
          min={0}
          max={limits.ruleMinutes}
          inputMode="numeric"
          placeholder="0"
          hint="How long it must hold before it alerts."
        />
      </div>
      <Choice
        type="checkbox"
        name="no-data"
        label="Alert without a value"
        hint="Such as the average of no numbers"
        checked={form.alertsWithoutData}
        onChange={(alertsWithoutData) => change({ alertsWithoutData })}
      />
    </>
  );
}

/** The steps of a funnel, and how long users may take. */
function StepFields({ form: { steps, windowHours }, change }: Props) {
  return (
    <>
      {steps.map((q, index) => (
        <SearchField
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity, and only the last is removed
          key={index}
          member={`when/measure/steps/${index}`}
          label={`Step ${index + 1}`}
          hint=""
          placeholder="name:Signup"
          q={q}
          onChange={(step) => change({ steps: steps.with(index, step) })}
        />
      ))}
      <div className="flex items-end gap-2">
        <Field
          label="Within (hours)"
          member="when/measure/windowSeconds"
          type="number"
          min={0.01}
          step="any"
          value={windowHours}
          onChange={(event) => change({ windowHours: event.target.value })}
          className="flex-1"
          required
        />
        <Button
          className="h-9 max-md:h-11"
          disabled={steps.length >= limits.funnelSteps}
          onClick={() => change({ steps: [...steps, ""] })}
        >
          Add step
        </Button>
        <Button
          className="h-9 max-md:h-11"
          variant="ghost"
          disabled={steps.length <= 2}
          onClick={() => change({ steps: steps.slice(0, -1) })}
        >
          Remove step
        </Button>
      </div>
    </>
  );
}

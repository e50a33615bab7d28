import { useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import { stepNameOf } from "../../server/schemas/step-name.ts";
import { Button } from "../components/ui/button.tsx";
import { Field, SelectField } from "../components/ui/field.tsx";
import type { MemberProps } from "../components/ui/form-errors.tsx";
import { SearchField } from "../rules/search-field.tsx";
import { insightsQuery } from "./boards.ts";
import { newStep, type TileForm } from "./tile-form.ts";

type StepProps = {
  form: TileForm;
  change: (next: Partial<TileForm>) => void;
};

/** The steps of a funnel, and how long users may take. */
export function StepFields({ form: { steps, windowHours, show }, change }: StepProps) {
  return (
    <>
      <SelectField
        label="Show"
        value={show}
        onChange={(event) => change({ show: event.target.value as TileForm["show"] })}
        member="tile/show"
      >
        <option value="steps">how many take each step</option>
        <option value="times">how long they take from step to step</option>
      </SelectField>
      {steps.map((step, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity, and only the last is removed
          key={index}
          className="flex items-start gap-2 max-md:flex-col max-md:items-stretch"
        >
          <div className="relative min-w-0 flex-1">
            <SearchField
              label={`Step ${index + 1}`}
              hint={index === 0 ? "A search, as in the feed." : ""}
              q={step.q}
              onChange={(q) => change({ steps: steps.with(index, { ...step, q }) })}
              member={`tile/steps/${index}`}
            />
          </div>
          <Field
            label="Name"
            aria-label={`Name of step ${index + 1}`}
            className="md:w-44"
            value={step.name}
            onChange={({ target }) => change({ steps: steps.with(index, { ...step, name: target.value }) })}
            maxLength={limits.stepNameCharacters}
            placeholder={stepNameOf(step.q, undefined) ?? `Step ${index + 1}`}
            hint={index === 0 ? "Also shown on public boards." : ""}
            autoComplete="off"
            member={`tile/stepNames/${index}`}
          />
        </div>
      ))}
      <div className="flex items-end gap-2">
        <Field
          label="Within (hours)"
          type="number"
          min={0.01}
          step="any"
          value={windowHours}
          onChange={(event) => change({ windowHours: event.target.value })}
          member="tile/windowSeconds"
          className="flex-1"
          required
        />
        <Button
          className="h-9"
          disabled={steps.length >= limits.funnelSteps}
          onClick={() => change({ steps: [...steps, newStep()] })}
        >
          Add step
        </Button>
        <Button
          className="h-9"
          variant="ghost"
          disabled={steps.length <= 2}
          onClick={() => change({ steps: steps.slice(0, -1) })}
        >
          Remove the last step
        </Button>
      </div>
    </>
  );
}

/** Which first event of a user counts. */
export function FirstField({ form, change, ...about }: StepProps & { label: string; hint: string }) {
  return (
    <SelectField
      value={form.first}
      onChange={(event) => change({ first: event.target.value as TileForm["first"] })}
      member="tile/first"
      {...about}
    >
      <option value="ever">the first such event ever</option>
      <option value="range">the first such event in the board's period</option>
    </SelectField>
  );
}

type TextProps = MemberProps & { value: string; onChange: (value: string) => void };

type TagFieldProps = TextProps & { label: string; placeholder?: string };

export function TagField({ label, placeholder = "amount", value, onChange, ...about }: TagFieldProps) {
  return (
    <Field
      label={label}
      className="flex-1"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      required
      maxLength={limits.tagKeyCharacters}
      placeholder={placeholder}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      {...about}
    />
  );
}

/** The key of an insight, with those that exist as suggestions, and how an application sets it. */
export function InsightField({ project, value, onChange, ...about }: TextProps & { project: string }) {
  const { data: insights = [] } = useQuery(insightsQuery(project));
  return (
    <>
      <Field
        label="Key"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        list="insight-keys"
        required
        maxLength={limits.insightKeyCharacters}
        placeholder="paying-customers"
        hint={
          <>
            Your application sets it: <code className="font-mono">PUT /api/insights/{value || "KEY"}</code>{" "}
            with <code className="font-mono">{'{"value": 42}'}</code>
          </>
        }
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        {...about}
      />
      <datalist id="insight-keys">
        {insights.map(({ key, title }) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </datalist>
    </>
  );
}

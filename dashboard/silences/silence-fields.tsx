import { useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { zone } from "../components/zone.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { rulesQuery } from "../rules/rules.ts";
import { SearchField } from "../rules/search-field.tsx";
import { type Length, lengths, type SilenceForm, silenceOf } from "./silence-form.ts";
import { SilencePreview } from "./silence-preview.tsx";

type Props = {
  form: SilenceForm;
  onChange: (form: SilenceForm) => void;
  /** Its beginning can't be changed any more. */
  hasBegun: boolean;
  /** One that exists has times, no length. */
  isNew: boolean;
};

/** Why, from when to when, and what a silence covers. */
export function SilenceFields({ form, onChange, hasBegun, isNew }: Props) {
  const { data: rules = [] } = useQuery(rulesQuery(useProjectSlug()));
  const change = (changed: Partial<SilenceForm>) => onChange({ ...form, ...changed });
  const toggled = (id: string) =>
    form.rules.includes(id) ? form.rules.filter((each) => each !== id) : [...form.rules, id];
  const { q, rules: chosen } = silenceOf(form);
  return (
    <>
      <Field
        label="Reason"
        value={form.reason}
        onChange={(event) => change({ reason: event.target.value })}
        required
        maxLength={limits.silenceReasonCharacters}
        placeholder="Deployment of the shop"
        autoComplete="off"
        hint="Whoever isn't notified can read it."
        member="reason"
      />
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        {isNew && (
          <SelectField
            label="Begins"
            value={form.isLater ? "later" : "now"}
            onChange={(event) => change({ isLater: event.target.value === "later" })}
          >
            <option value="now">Now</option>
            <option value="later">At…</option>
          </SelectField>
        )}
        {form.isLater && !hasBegun && (
          <Field
            label={isNew ? "Begins at" : "Begins"}
            type="datetime-local"
            value={form.from}
            onChange={(event) => change({ from: event.target.value })}
            required
            hint={zone()}
            member="from"
          />
        )}
        {isNew && (
          <SelectField
            label="Lasts"
            value={form.length}
            onChange={(event) => change({ length: event.target.value as Length })}
            member={form.length === "custom" ? "" : "to"}
          >
            {Object.entries(lengths).map(([length, label]) => (
              <option key={length} value={length}>
                {label}
              </option>
            ))}
          </SelectField>
        )}
        {form.length === "custom" && (
          <Field
            label={isNew ? "Ends at" : "Ends"}
            type="datetime-local"
            value={form.to}
            onChange={(event) => change({ to: event.target.value })}
            required
            hint={zone()}
            member="to"
          />
        )}
      </div>
      <SearchField
        q={form.q}
        onChange={(next) => change({ q: next })}
        member="q"
        label="Events that it covers"
        hint="A search, as in the feed. Empty covers all events."
        placeholder="channel:servers server=db-1"
      />
      <Choices label="Rules that it covers" className="sm:grid-cols-2" member="rules">
        <Choice
          type="radio"
          name="of"
          label="All rules"
          hint="Also members who want all events"
          checked={!form.isOfRules}
          onChange={() => change({ isOfRules: false })}
        />
        <Choice
          type="radio"
          name="of"
          label="Some rules"
          checked={form.isOfRules}
          onChange={() => change({ isOfRules: true })}
        />
        {form.isOfRules &&
          rules.map(({ id, name }) => (
            <Choice
              key={id}
              type="checkbox"
              name="rules"
              label={name}
              checked={form.rules.includes(id)}
              onChange={() => change({ rules: toggled(id) })}
            />
          ))}
      </Choices>
      <SilencePreview q={q} rules={chosen} isComplete={!form.isOfRules || chosen.length > 0} />
    </>
  );
}

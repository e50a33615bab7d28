import { Field, SelectField } from "../components/ui/field.tsx";
import type { Unit } from "../rules/rules.ts";
import type { Length } from "./heartbeat-form.ts";

type Props = {
  label: string;
  /** The member of the request that it is. */
  member: string;
  value: Length;
  min: number;
  hint?: string;
  change: (value: Length) => void;
};

/** A length of time: a number and a unit. */
export function LengthFields({ label, member, value, min, hint, change }: Props) {
  return (
    <div className="flex flex-col gap-1.5">
      <div className="grid grid-cols-2 gap-x-2">
        <Field
          label={label}
          member={member}
          value={value.amount}
          onChange={(event) => change({ ...value, amount: event.target.value })}
          type="number"
          inputMode="numeric"
          min={min}
          step={1}
          required
          autoComplete="off"
        />
        <SelectField
          label="Unit"
          aria-label={`Unit of ${label.toLowerCase()}`}
          value={value.unit}
          onChange={(event) => change({ ...value, unit: event.target.value as Unit })}
        >
          <option value="minutes">minutes</option>
          <option value="hours">hours</option>
          <option value="days">days</option>
        </SelectField>
      </div>
      {hint && <p className="text-faint text-xs">{hint}</p>}
    </div>
  );
}

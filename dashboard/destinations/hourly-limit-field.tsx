import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";

type Props = { value: string; onChange: (value: string) => void };

/** How many messages a destination gets in an hour; empty is no limit. */
export function HourlyLimitField({ value, onChange }: Props) {
  return (
    <Field
      label="Messages in an hour, at most"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      type="number"
      inputMode="numeric"
      min={1}
      max={limits.messagesPerHour}
      step={1}
      placeholder="No limit"
      autoComplete="off"
      hint="Further ones are held back, and one message says how many. Urgent ones always pass."
      member="hourlyLimit"
    />
  );
}

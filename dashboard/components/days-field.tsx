import type { ComponentProps } from "react";
import { limits } from "../../server/core/limits.ts";
import { Field } from "./ui/field.tsx";

type Props = Omit<ComponentProps<typeof Field>, "onChange" | "value"> & {
  value: string;
  onChange: (text: string) => void;
};

/** A number of days to keep something; the hint says what an empty field means. */
export function DaysField({ onChange, ...field }: Props) {
  return (
    <Field
      type="number"
      inputMode="numeric"
      min={1}
      max={limits.retentionDays}
      onChange={(event) => onChange(event.target.value)}
      {...field}
    />
  );
}

/** The value to send: null if the field is empty. */
export function parseDays(text: string): number | null {
  return text === "" ? null : Number(text);
}

export function formatDays(days: number | null): string {
  return days === null ? "" : String(days);
}

import type { ComponentProps } from "react";
import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";

type Props = Pick<ComponentProps<typeof Field>, "label" | "value" | "onChange" | "member" | "autoFocus">;

export function NewPasswordField(field: Props) {
  return (
    <Field
      {...field}
      type="password"
      autoComplete="new-password"
      required
      minLength={limits.passwordCharactersMin}
      maxLength={limits.passwordCharactersMax}
      hint={`At least ${limits.passwordCharactersMin} characters.`}
    />
  );
}

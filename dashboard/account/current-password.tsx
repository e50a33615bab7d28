import { ApiError, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useAccount } from "./account-query.ts";

type FieldProps = { value: string; onChange: (password: string) => void };

/** Asks for the current password, if the account has one. */
export function CurrentPasswordField({ value, onChange }: FieldProps) {
  const { hasPassword, email } = useAccount();
  if (!hasPassword) return null;
  return (
    <>
      <input type="hidden" autoComplete="username" value={email} readOnly />
      <Field
        label="Current password"
        type="password"
        autoComplete="current-password"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  );
}

/** An error of a change that needs a recent sign-in, with the way to one. */
export function SecurityAlert({ error }: { error: unknown }) {
  if (!error) return null;
  const isStale = error instanceof ApiError && error.code === "session-stale";
  return (
    <>
      <Alert>{errorMessage(error)}</Alert>
      {isStale && (
        <Button className="self-start" onClick={() => location.assign("/sign-in?next=%2Faccount")}>
          Sign in again
        </Button>
      )}
    </>
  );
}

import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";
import { NewPasswordField } from "./new-password-field.tsx";

export type AccountInput = { email: string; password: string; name: string };

type AccountFieldsProps = {
  account: AccountInput;
  onChange: (account: AccountInput) => void;
  /** Whether the address is given and can't be changed. */
  emailFixed?: boolean;
};

/** The input of a new account. */
export function useAccountInput(email = "") {
  return useState<AccountInput>({ email, password: "", name: "" });
}

/** The request's body. The name is optional. */
export function accountBody({ email, password, name }: AccountInput) {
  return { email, password, ...(name.trim() && { name: name.trim() }) };
}

/** The fields of a new account: email, password and name. */
export function AccountFields({ account, onChange, emailFixed = false }: AccountFieldsProps) {
  return (
    <>
      <Field
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus={!emailFixed}
        readOnly={emailFixed}
        maxLength={limits.emailCharacters}
        value={account.email}
        onChange={(event) => onChange({ ...account, email: event.target.value })}
        member="email"
      />
      <NewPasswordField
        label="Password"
        autoFocus={emailFixed}
        value={account.password}
        onChange={(event) => onChange({ ...account, password: event.target.value })}
        member="password"
      />
      <AccountNameField value={account.name} onChange={(name) => onChange({ ...account, name })} />
    </>
  );
}

export function AccountNameField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  return (
    <Field
      label="Name"
      hint="Optional. What should we call you?"
      autoComplete="name"
      maxLength={limits.accountNameCharacters}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      member="name"
    />
  );
}

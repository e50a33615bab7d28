import { useState } from "react";
import { limits } from "../../server/limits.ts";
import { Field } from "../components/ui/field.tsx";

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

/** What to send: the name is optional. */
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
      <Field
        label="Password"
        type="password"
        autoComplete="new-password"
        required
        autoFocus={emailFixed}
        minLength={limits.passwordCharactersMin}
        maxLength={limits.passwordCharactersMax}
        hint={`At least ${limits.passwordCharactersMin} characters.`}
        value={account.password}
        onChange={(event) => onChange({ ...account, password: event.target.value })}
        member="password"
      />
      <Field
        label="Name"
        hint="Optional. What should we call you?"
        autoComplete="name"
        maxLength={limits.accountNameCharacters}
        value={account.name}
        onChange={(event) => onChange({ ...account, name: event.target.value })}
        member="name"
      />
    </>
  );
}

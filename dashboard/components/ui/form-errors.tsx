import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { ApiError, errorMessage } from "../../api.ts";
import { Alert } from "./states.tsx";

type Form = {
  error: unknown;
  /** The members that the form has fields for. */
  members: Set<string>;
};

const FormContext = createContext<Form | null>(null);

/** Explains why a form's request failed: at the fields of the invalid members, or else above the form. */
export function FormErrors({ error, children }: { error: unknown; children: ReactNode }) {
  const [members] = useState(() => new Set<string>());
  const isAtField = [...members].some((member) => memberError(error, member));
  return (
    <FormContext value={{ error, members }}>
      {Boolean(error) && !isAtField && <Alert>{errorMessage(error)}</Alert>}
      {children}
    </FormContext>
  );
}

export type MemberProps = {
  /** The member of the request that the field is for, as a problem points to it: `when/minutes`. */
  member?: string | undefined;
  /** The subject of the error's sentence. Default: the field's label. */
  subject?: string;
  /** An error in other words, or one that isn't the request's. */
  error?: ReactNode;
};

/** The error of a field's member. */
export function useFieldError({ member, subject, error }: MemberProps, label: string): ReactNode {
  const form = useContext(FormContext);
  const members = form?.members;
  useEffect(() => {
    if (!members || member === undefined) return;
    members.add(member);
    return () => void members.delete(member);
  }, [members, member]);
  if (error !== undefined || !form || member === undefined) return error;
  return memberError(form.error, member)?.replace(/^"[^"]*"/, () => subject ?? `"${label}"`);
}

/** The error of a member or of something in it, found by the problem's pointer (`/email`), as a sentence. */
export function memberError(error: unknown, member: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = error.errors.find(
    ({ pointer }) => pointer === `/${member}` || pointer.startsWith(`/${member}/`),
  );
  if (!found) return undefined;
  const text = found.detail.charAt(0).toUpperCase() + found.detail.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

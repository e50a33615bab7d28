import type { UseMutationResult } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useState } from "react";
import { Field } from "./field.tsx";
import { FormDialog } from "./form-dialog.tsx";

type Props = {
  title: string;
  description: string;
  /** Creates the thing with the given name. */
  create: UseMutationResult<unknown, Error, string>;
  /** The submit button's label. */
  action: string;
  close: () => void;
  /** Props of the name field. */
  field: Pick<
    ComponentProps<typeof Field>,
    "hint" | "maxLength" | "placeholder" | "autoCapitalize" | "spellCheck"
  >;
  /** Further fields. */
  children?: ReactNode;
};

/** Asks for the name of something to create. */
export function NameDialog({ title, description, create, action, close, field, children }: Props) {
  const [name, setName] = useState("");

  return (
    <FormDialog
      title={title}
      description={description}
      error={create.error}
      action={action}
      busy={create.isPending}
      submit={() => create.mutate(name.trim())}
      close={close}
    >
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        autoComplete="off"
        member="name"
        {...field}
      />
      {children}
    </FormDialog>
  );
}

import type { UseMutationResult } from "@tanstack/react-query";
import { type ComponentProps, type FormEvent, type ReactNode, useState } from "react";
import { Alert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { faultOf, faultOfForm } from "./form-faults.ts";

type Props = {
  title: string;
  description: string;
  /** Makes what gets the name. */
  create: UseMutationResult<unknown, Error, string>;
  /** The button that does so. */
  action: string;
  close: () => void;
  /** Of the name: its hint, how long it may be, an example. */
  field: Pick<
    ComponentProps<typeof Field>,
    "hint" | "maxLength" | "placeholder" | "autoCapitalize" | "spellCheck"
  >;
  /** Further fields, and which members of the body they show the faults of. */
  children?: ReactNode;
  members?: string[];
};

/** Asks for the name of something new. */
export function NameDialog({
  title,
  description,
  create,
  action,
  close,
  field,
  children,
  members = [],
}: Props) {
  const [name, setName] = useState("");
  const fault = faultOfForm(create.error, ["name", ...members]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate(name.trim());
  }

  return (
    <Dialog open onOpenChange={close} title={title} description={description}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {fault && <Alert>{fault}</Alert>}
        <Field
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          autoComplete="off"
          fault={faultOf(create.error, "name")}
          {...field}
        />
        {children}
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="solid" type="submit" busy={create.isPending}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

import type { UseMutationResult } from "@tanstack/react-query";
import { type ComponentProps, type FormEvent, type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Field, fieldError, formError } from "./field.tsx";
import { Alert } from "./states.tsx";

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
  /** Further fields, and the body members whose errors they show. */
  children?: ReactNode;
  members?: string[];
};

/** Asks for the name of something to create. */
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
  const error = formError(create.error, ["name", ...members]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate(name.trim());
  }

  return (
    <Dialog open onOpenChange={close} title={title} description={description}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error && <Alert>{error}</Alert>}
        <Field
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          autoComplete="off"
          error={fieldError(create.error, "name")}
          {...field}
        />
        {children}
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button variant="solid" type="submit" busy={create.isPending}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

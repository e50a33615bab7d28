import type { FormEvent, ReactNode } from "react";
import { Button } from "../components/ui/button.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";

type Props = {
  /** How saving goes. The field shows the error of its member. */
  save: { isPending: boolean; isSuccess: boolean; error: unknown };
  /** Whether the field differs from the saved value. */
  changed: boolean;
  onSubmit: () => void;
  /** The field. */
  children: ReactNode;
};

/** A setting in its own form: a field with a Save button. */
export function SavedField({ save, changed, onSubmit, children }: Props) {
  function submit(event: FormEvent) {
    event.preventDefault();
    onSubmit();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <FormErrors error={save.error}>
        <div className="flex items-start gap-3">
          {children}
          <Button type="submit" className="mt-6.5 h-9 max-md:h-11" busy={save.isPending} disabled={!changed}>
            Save
          </Button>
        </div>
      </FormErrors>
      <p role="status" className="sr-only">
        {save.isSuccess && !changed ? "Saved" : ""}
      </p>
    </form>
  );
}

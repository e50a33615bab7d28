import { Check } from "lucide-react";
import type { FormEvent, KeyboardEvent, ReactNode } from "react";
import { Button } from "../components/ui/button.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";

type Props = {
  /** The state of saving. The field shows the error of its member. */
  save: { isPending: boolean; isSuccess: boolean; isChanged: boolean; error: unknown; discard: () => void };
  /** Whether the field differs from the saved value, and can be saved. */
  changed: boolean;
  onSubmit: () => void;
  /** The field. */
  children: ReactNode;
};

/**
 * A setting in its own form. Once it is changed, there are buttons to save and to undo it, which Enter and Escape do
 * too. It says when it is saved.
 */
export function SavedField({ save, changed, onSubmit, children }: Props) {
  function submit(event: FormEvent) {
    event.preventDefault();
    if (changed) onSubmit();
  }

  function onKey(event: KeyboardEvent) {
    if (event.key === "Escape" && save.isChanged && !save.isPending) save.discard();
  }

  const isSaved = save.isSuccess && !save.isChanged;
  return (
    <form onSubmit={submit} onKeyDown={onKey} className="flex flex-col gap-3">
      <FormErrors error={save.error}>
        <div className="flex items-start gap-2 max-sm:flex-col max-sm:items-stretch">
          {children}
          <div className="flex shrink-0 items-center gap-1 sm:mt-6.5 sm:h-9 sm:w-33">
            {(save.isChanged || save.isPending) && (
              <>
                <Button
                  variant="solid"
                  type="submit"
                  className="h-9 max-md:h-11"
                  busy={save.isPending}
                  disabled={!changed}
                >
                  Save
                </Button>
                {!save.isPending && (
                  <Button variant="ghost" className="h-9 max-md:h-11" onClick={save.discard}>
                    Undo
                  </Button>
                )}
              </>
            )}
            <p role="status" className="flex items-center gap-1 text-good text-sm">
              {isSaved && (
                <>
                  <Check aria-hidden className="size-4" />
                  Saved
                </>
              )}
            </p>
          </div>
        </div>
      </FormErrors>
    </form>
  );
}

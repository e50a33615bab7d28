import type { UseMutationResult } from "@tanstack/react-query";
import { Check } from "lucide-react";
import type { FormEvent, KeyboardEvent, ReactNode } from "react";
import type { Project, ProjectChange } from "../../server/wire/project.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";

type Props = {
  save: Pick<UseMutationResult, "isPending" | "isSuccess">;
  /** Why saving failed. The field shows the error of its member. */
  error: unknown;
  /** Whether the field differs from the saved value. */
  changed: boolean;
  onSubmit: () => void;
  /** Shows the saved value again. */
  undo?: () => void;
  /** The field. */
  children: ReactNode;
};

/**
 * A setting in its own form. Once it is changed, there are buttons to save and to undo it, which Enter and Escape do
 * too. It says when it is saved.
 */
export function SavedField({ save, error, changed, onSubmit, undo, children }: Props) {
  function submit(event: FormEvent) {
    event.preventDefault();
    if (changed) onSubmit();
  }

  function onKey(event: KeyboardEvent) {
    if (event.key === "Escape" && changed && !save.isPending) undo?.();
  }

  const isSaved = save.isSuccess && !changed;
  return (
    <form onSubmit={submit} onKeyDown={onKey} className="flex flex-col gap-3">
      <FormErrors error={error}>
        <div className="flex items-start gap-2 max-sm:flex-col max-sm:items-stretch">
          {children}
          <div className="flex shrink-0 items-center gap-1 sm:mt-6.5 sm:h-9 sm:w-33">
            {(changed || save.isPending) && (
              <>
                <Button variant="solid" type="submit" className="h-9 max-md:h-11" busy={save.isPending}>
                  Save
                </Button>
                {undo && !save.isPending && (
                  <Button variant="ghost" className="h-9 max-md:h-11" onClick={undo}>
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

export function changeProject(slug: string, change: ProjectChange): Promise<{ ok: true; project: Project }> {
  return api(`/api/projects/${encodeURIComponent(slug)}`, { method: "PATCH", body: change });
}

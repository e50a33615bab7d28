import type { UseMutationResult } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
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
  /** The field. */
  children: ReactNode;
};

/** A setting in its own form: a field with a Save button. */
export function SavedField({ save, error, changed, onSubmit, children }: Props) {
  function submit(event: FormEvent) {
    event.preventDefault();
    onSubmit();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <FormErrors error={error}>
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

export function changeProject(slug: string, change: ProjectChange): Promise<{ ok: true; project: Project }> {
  return api(`/api/projects/${encodeURIComponent(slug)}`, { method: "PATCH", body: change });
}

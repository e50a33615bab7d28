import type { UseMutationResult } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import type { Project, ProjectChange } from "../../server/wire/project.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";

type Props = {
  save: Pick<UseMutationResult, "isPending" | "isSuccess">;
  error: string | undefined;
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
      {error && <Alert>{error}</Alert>}
      <div className="flex items-start gap-3">
        {children}
        <Button type="submit" className="mt-6.5 h-9 max-md:h-11" busy={save.isPending} disabled={!changed}>
          Save
        </Button>
      </div>
      <p role="status" className="sr-only">
        {save.isSuccess && !changed ? "Saved" : ""}
      </p>
    </form>
  );
}

export function changeProject(slug: string, change: ProjectChange): Promise<{ ok: true; project: Project }> {
  return api(`/api/projects/${encodeURIComponent(slug)}`, { method: "PATCH", body: change });
}

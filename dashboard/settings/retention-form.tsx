import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { countOf } from "../components/counts.ts";
import { DaysField, formatDays, parseDays } from "../components/days-field.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { changeProject, SavedField } from "./saved-field.tsx";
import { useDraft } from "./use-draft.ts";

/** How long a project keeps its events. A shorter time deletes events, so it has to be confirmed. */
export function RetentionForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const saved = formatDays(project.retentionDays);
  const { text, setText, changed, undo, onSaved } = useDraft(`${project.slug} retention`, saved);
  const [confirming, setConfirming] = useState(false);
  const retentionDays = parseDays(text);
  const save = useMutation({
    mutationFn: () => changeProject(project.slug, { retentionDays }),
    onSuccess(response) {
      putProject(queries, response.project);
      onSaved((typed) => parseDays(typed) === response.project.retentionDays);
    },
    onSettled: () => setConfirming(false),
  });
  const deletes =
    retentionDays !== null && retentionDays < (project.retentionDays ?? Number.POSITIVE_INFINITY);

  return (
    <>
      <SavedField
        save={save}
        error={save.error}
        changed={changed}
        onSubmit={() => (deletes ? setConfirming(true) : save.mutate())}
        undo={undo}
      >
        <DaysField
          className="flex-1"
          label="Keep events for (days)"
          hint="Channels can override this. Empty keeps events forever."
          value={text}
          onChange={setText}
          placeholder="Forever"
        />
      </SavedField>
      {confirming && retentionDays !== null && (
        <ConfirmDialog
          title="Delete older events?"
          action="Delete older events"
          mutation={save}
          close={() => setConfirming(false)}
        >
          Events older than {countOf(retentionDays, "day")} are permanently deleted, now and in the future.
          Channels with their own setting are not affected.
        </ConfirmDialog>
      )}
    </>
  );
}

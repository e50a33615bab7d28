import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { sentence } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { DaysField, daysIn, textOfDays } from "../components/days-field.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { changeProject } from "./change-project.ts";
import { SavedField } from "./saved-field.tsx";

/** How long a project keeps its events. Fewer days than before delete some, and are asked about first. */
export function RetentionForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const [text, setText] = useState(textOfDays(project.retentionDays));
  const [asking, setAsking] = useState(false);
  const retentionDays = daysIn(text);
  const keep = useMutation({
    mutationFn: () => changeProject(project.slug, { retentionDays }),
    onSuccess(answer) {
      putProject(queries, answer.project);
      setText(textOfDays(answer.project.retentionDays));
    },
    onSettled: () => setAsking(false),
  });
  const deletes =
    retentionDays !== null && retentionDays < (project.retentionDays ?? Number.POSITIVE_INFINITY);

  return (
    <>
      <SavedField
        save={keep}
        fault={keep.error ? sentence(keep.error) : undefined}
        changed={retentionDays !== project.retentionDays}
        onSubmit={() => (deletes ? setAsking(true) : keep.mutate())}
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
      {asking && retentionDays !== null && (
        <ConfirmDialog
          title="Delete older events?"
          action="Delete older events"
          run={keep}
          close={() => setAsking(false)}
        >
          Events older than {countOf(retentionDays, "day")} are permanently deleted, now and in the future.
          Channels with their own setting are not affected.
        </ConfirmDialog>
      )}
    </>
  );
}

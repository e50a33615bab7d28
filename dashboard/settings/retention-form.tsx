import { useState } from "react";
import type { Project } from "../../server/schemas/project.ts";
import { countOf } from "../components/counts.ts";
import { DaysField, formatDays, parseDays } from "../components/days-field.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { SavedField } from "./saved-field.tsx";
import { useProjectSetting } from "./use-project-setting.ts";

/** How long a project keeps its events. A shorter time deletes events, so it has to be confirmed. */
export function RetentionForm({ project }: { project: Project }) {
  const edit = useProjectSetting(project, {
    label: "Keep events for (days)",
    textOf: ({ retentionDays }) => formatDays(retentionDays),
    changeOf: (text) => ({ retentionDays: parseDays(text) }),
    empty: "Forever",
  });
  const [confirming, setConfirming] = useState(false);
  const retentionDays = parseDays(edit.form.text);
  const deletes =
    retentionDays !== null && retentionDays < (project.retentionDays ?? Number.POSITIVE_INFINITY);

  function save() {
    setConfirming(false);
    edit.submit();
  }

  return (
    <>
      <SavedField
        save={edit}
        changed={edit.isChanged}
        onSubmit={() => (deletes ? setConfirming(true) : save())}
      >
        <DaysField
          className="flex-1"
          label="Keep events for (days)"
          hint="Channels can override this. Empty keeps events forever."
          value={edit.form.text}
          onChange={(text) => edit.change({ text })}
          placeholder="Forever"
          member="retentionDays"
        />
      </SavedField>
      {confirming && retentionDays !== null && (
        <ConfirmDialog
          title="Delete older events?"
          action="Delete older events"
          mutation={{ error: null, isPending: false, mutate: save }}
          close={() => setConfirming(false)}
        >
          Events older than {countOf(retentionDays, "day")} are permanently deleted, now and in the future.
          Channels with their own setting are not affected.
        </ConfirmDialog>
      )}
      {edit.dialog}
    </>
  );
}

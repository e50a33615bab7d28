import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/wire/limits.ts";
import type { Project } from "../../server/wire/project.ts";
import { putProject } from "../account/me.ts";
import { api, sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";

/** How long a project keeps its events. Fewer days than before delete some, and are asked about first. */
export function RetentionForm({ project }: { project: Project }) {
  const queries = useQueryClient();
  const [text, setText] = useState(textOf(project));
  const [asking, setAsking] = useState(false);
  const retentionDays = text === "" ? null : Number(text);
  const keep = useMutation({
    mutationFn: () =>
      api<{ ok: true; project: Project }>(`/api/projects/${encodeURIComponent(project.slug)}`, {
        method: "PATCH",
        body: { retentionDays },
      }),
    onSuccess(answer) {
      putProject(queries, answer.project);
      setText(textOf(answer.project));
    },
    onSettled: () => setAsking(false),
  });
  const changed = retentionDays !== project.retentionDays;
  const deletes =
    retentionDays !== null && retentionDays < (project.retentionDays ?? Number.POSITIVE_INFINITY);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (deletes) setAsking(true);
    else keep.mutate();
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      {keep.error && <Alert>{sentence(keep.error)}</Alert>}
      <div className="flex items-start gap-3">
        <Field
          className="flex-1"
          label="Days that events are kept"
          hint="A channel's own days go before these. Empty keeps events for good."
          type="number"
          min={1}
          max={limits.retentionDays}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="For good"
        />
        <Button type="submit" className="mt-6.5 h-9 max-md:h-11" busy={keep.isPending} disabled={!changed}>
          Save
        </Button>
      </div>
      <p role="status" className="sr-only">
        {keep.isSuccess && !changed ? "Saved" : ""}
      </p>
      {asking && (
        <Dialog open onOpenChange={setAsking} title="Delete older events?">
          <p className="text-muted text-sm">
            Events that are older than {retentionDays === 1 ? "a day" : `${retentionDays} days`} are deleted
            for good, now and from now on, but in channels with days of their own.
          </p>
          <DialogButtons>
            <Button look="ghost" onClick={() => setAsking(false)}>
              Cancel
            </Button>
            <Button look="danger" busy={keep.isPending} onClick={() => keep.mutate()}>
              Delete older events
            </Button>
          </DialogButtons>
        </Dialog>
      )}
    </form>
  );
}

function textOf({ retentionDays }: Project): string {
  return retentionDays === null ? "" : String(retentionDays);
}

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/limits.ts";
import type { View } from "../../server/wire/view.ts";
import { api } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";

export type NewViewProps = {
  /** What to save. */
  shown: Pick<View, "q" | "range" | "split">;
  close: () => void;
};

type ViewDialogProps = { close: () => void } & (
  | { view: View; shown?: never }
  | (NewViewProps & { view?: never })
);

/** Saves what the page shows as a view, or renames a view. */
export function ViewDialog({ view, shown, close }: ViewDialogProps) {
  const project = useProjectSlug();
  const mayShare = useCan()("views:share");
  const [name, setName] = useState(view?.name ?? "");
  const [shared, setShared] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      view
        ? api(`/api/views/${view.id}`, { method: "PATCH", query: { project }, body: { name: name.trim() } })
        : api("/api/views", {
            method: "POST",
            query: { project },
            body: { name: name.trim(), ...shown, shared },
          }),
    async onSuccess() {
      await refresh(sidebarQuery(project).queryKey);
      close();
    },
  });

  return (
    <FormDialog
      title={view ? "Rename view" : "Save view"}
      description={view ? undefined : "Lists this search in the sidebar, with its unread count."}
      error={save.error}
      action="Save"
      busy={save.isPending}
      submit={() => save.mutate()}
      close={close}
    >
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={limits.viewNameCharacters}
        autoComplete="off"
        placeholder="Failed payments"
        member="name"
      />
      {!view && mayShare && (
        <div className="rounded-md border border-line">
          <SwitchRow
            label="For the project"
            hint="All members see it. Otherwise it is yours alone."
            checked={shared}
            onChange={setShared}
          />
        </div>
      )}
    </FormDialog>
  );
}

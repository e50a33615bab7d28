import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { View } from "../../server/schemas/view.ts";
import { api } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { byParts, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";

export type NewViewProps = {
  /** The settings to save. */
  shown: Pick<View, "q" | "range" | "split">;
  close: () => void;
};

/** Saves the shown page as a view. */
export function NewViewDialog({ shown, close }: NewViewProps) {
  const project = useProjectSlug();
  const mayShare = useCan()("views:share");
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      api("/api/views", {
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
      title="Save view"
      description="Lists this search in the sidebar, with its unread count."
      error={save.error}
      action="Save"
      busy={save.isPending}
      submit={() => save.mutate()}
      close={close}
    >
      <NameField value={name} onChange={setName} />
      {mayShare && (
        <div className="rounded-md border border-line">
          <SwitchRow
            label="For the project"
            hint="All members see it. Otherwise only you do."
            checked={shared}
            onChange={setShared}
          />
        </div>
      )}
    </FormDialog>
  );
}

type RenameProps = { view: View; close: () => void };

export function RenameViewDialog({ view, close }: RenameProps) {
  const project = useProjectSlug();
  const edit = useEdit<View, { name: string }>({
    thing: view,
    what: "view",
    isOwn: !view.shared,
    isSingle: true,
    formOf: ({ name }) => ({ name }),
    compare: byParts([part("Name", ["name"], ({ name }) => name)]),
    keys: [sidebarQuery(project).queryKey],
    async save({ name }, base) {
      if (name.trim() === base.name) return;
      const options = { method: "PATCH", query: { project }, version: base.version } as const;
      await api(`/api/views/${view.id}`, { ...options, body: { name: name.trim() } });
    },
    saved: close,
    gone: {
      code: "view-unknown",
      recreate({ name }, { q, range, split, shared }) {
        const body = { name: name.trim(), q, range, split, shared };
        return api("/api/views", { method: "POST", query: { project }, body });
      },
    },
  });
  return (
    <>
      <FormDialog
        title="Rename view"
        error={edit.error}
        action="Save"
        busy={edit.isPending}
        submit={() => edit.submit()}
        close={close}
      >
        <NameField value={edit.form.name} onChange={(name) => edit.change({ name })} />
      </FormDialog>
      {edit.dialog}
    </>
  );
}

function NameField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  return (
    <Field
      label="Name"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      required
      maxLength={limits.viewNameCharacters}
      autoComplete="off"
      placeholder="Failed payments"
      member="name"
    />
  );
}

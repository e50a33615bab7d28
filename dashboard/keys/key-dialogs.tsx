import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Key } from "../../server/wire/key.ts";
import { api } from "../api.ts";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { KeyFields } from "./key-fields.tsx";
import { type KeySettings, keyChangeOf, newKeyOf, newKeySettings, settingsOf } from "./key-settings.ts";
import { keysQuery } from "./key-table.tsx";
import { NewSecretDialog } from "./new-secret-dialog.tsx";

export function NewKeyDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const create = useMutation({
    mutationFn: (settings: KeySettings) =>
      api<{ ok: true; key: Key; secret: string }>("/api/keys", {
        method: "POST",
        query: { project },
        body: newKeyOf(settings),
      }),
    onSuccess: () => refreshConnections(project, keysQuery(project).queryKey),
  });
  if (create.data)
    return <NewSecretDialog created={create.data.key} secret={create.data.secret} close={close} />;
  return (
    <KeyDialog title="New API key" initial={newKeySettings} save={create} action="Create key" close={close} />
  );
}

export function EditKeyDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const save = useMutation({
    async mutationFn(settings: KeySettings) {
      const body = keyChangeOf(apiKey, settings);
      if (Object.keys(body).length === 0) return;
      await api(`/api/keys/${apiKey.id}`, { method: "PATCH", query: { project }, body });
    },
    onSuccess() {
      void refreshConnections(project, keysQuery(project).queryKey);
      close();
    },
  });
  return (
    <KeyDialog
      title="Edit API key"
      description="Changes take effect at once."
      initial={settingsOf(apiKey)}
      existing={apiKey}
      save={save}
      action="Save"
      close={close}
    />
  );
}

type Props = {
  title: string;
  description?: ReactNode;
  initial: KeySettings;
  existing?: { expiresAt: string | null };
  /** Saves the settings. */
  save: UseMutationResult<unknown, Error, KeySettings>;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

/** Asks for the settings of a key. */
function KeyDialog({ title, description, initial, existing, save, action, close }: Props) {
  const [settings, setSettings] = useState(initial);

  return (
    <FormDialog
      wide
      title={title}
      description={description}
      error={save.error}
      action={action}
      busy={save.isPending}
      submit={() => save.mutate(settings)}
      close={close}
    >
      <KeyFields
        settings={settings}
        onChange={setSettings}
        error={save.error}
        {...(existing && { existing })}
      />
    </FormDialog>
  );
}

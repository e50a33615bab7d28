import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Key } from "../../server/schemas/key.ts";
import { api } from "../api.ts";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { connectionsQuery, refreshConnections } from "../connections/connections.ts";
import { byParts } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { KeyFields } from "./key-fields.tsx";
import {
  type KeySettings,
  keyChangeOf,
  keyParts,
  newKeyOf,
  newKeySettings,
  settingsOf,
} from "./key-settings.ts";
import { keysQuery } from "./key-table.tsx";
import { NewSecretDialog } from "./new-secret-dialog.tsx";

export function NewKeyDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const [settings, setSettings] = useState(newKeySettings);
  const create = useMutation({
    mutationFn: () =>
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
    <FormDialog
      wide
      title="New API key"
      error={create.error}
      action="Create key"
      busy={create.isPending}
      submit={() => create.mutate()}
      close={close}
    >
      <KeyFields settings={settings} onChange={setSettings} error={create.error} existing={false} />
    </FormDialog>
  );
}

export function EditKeyDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, dialog } = useEdit<Key, KeySettings>({
    thing: apiKey,
    what: "API key",
    formOf: settingsOf,
    compare: byParts(keyParts),
    keys: [keysQuery(project).queryKey, connectionsQuery(project).queryKey],
    async save(settings, base) {
      const body = keyChangeOf(base, settings);
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/keys/${apiKey.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved: close,
  });
  return (
    <>
      <FormDialog
        wide
        title="Edit API key"
        description="Changes take effect at once."
        error={error}
        action="Save"
        busy={isPending}
        submit={() => submit()}
        close={close}
      >
        <KeyFields settings={form} onChange={change} error={error} existing />
      </FormDialog>
      {dialog}
    </>
  );
}

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Key } from "../../server/schemas/key.ts";
import { api } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { keysQuery } from "./key-table.tsx";
import { NewSecretDialog } from "./new-secret-dialog.tsx";

const overlaps = [
  { hours: 0, label: "Stops at once" },
  { hours: 1, label: "Works for another hour" },
  { hours: 24, label: "Works for another day" },
  { hours: 72, label: "Works for three more days" },
  { hours: 168, label: "Works for another week" },
];

/** Replaces a key with a new one, and shows it. */
export function RotateDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const [overlapHours, setOverlapHours] = useState<number>(limits.keyOverlapHoursDefault);
  const rotate = useMutation({
    mutationFn: () =>
      api<{ ok: true; key: Key; secret: string; replaced: Key }>(`/api/keys/${apiKey.id}/rotate`, {
        method: "POST",
        query: { project },
        body: { overlapHours },
      }),
    onSuccess: () => refreshConnections(project, keysQuery(project).queryKey),
  });

  if (rotate.data) {
    const { key, secret, replaced } = rotate.data;
    const note =
      overlapHours === 0
        ? "The old key no longer works."
        : `The old key works until ${formatDate(replaced.expiresAt!, "medium")}.`;
    return <NewSecretDialog created={key} secret={secret} note={note} close={close} />;
  }

  return (
    <FormDialog
      title="Rotate this API key?"
      description={
        <span className="hostile block">
          <b className="font-semibold text-ink">{apiKey.name}</b> (…{apiKey.ending}) gets a successor with the
          same settings. Replace it in your application while both work.
        </span>
      }
      error={rotate.error}
      action="Rotate key"
      busy={rotate.isPending}
      submit={() => rotate.mutate()}
      close={close}
    >
      <SelectField
        label="The old key"
        value={overlapHours}
        onChange={(event) => setOverlapHours(Number(event.target.value))}
      >
        {overlaps.map(({ hours, label }) => (
          <option key={hours} value={hours}>
            {label}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

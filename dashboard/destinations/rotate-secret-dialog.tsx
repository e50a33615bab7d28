import { useMutation } from "@tanstack/react-query";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import { api } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useKnownVersion } from "../edits/use-known-version.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { projectDestinationsQuery } from "./project-destinations.ts";
import { SigningSecretDialog } from "./signing-secret-dialog.tsx";

type Props = { destination: ProjectDestination; close: () => void };

export function RotateSecretDialog({ destination, close }: Props) {
  const project = useProjectSlug();
  const { known, note, errorOf, onError } = useKnownVersion(destination);
  const rotate = useMutation({
    mutationFn: () =>
      api<{ ok: true; signingSecret: string; previousValidUntil: string }>(
        `/api/project-destinations/${destination.id}/rotate`,
        { method: "POST", query: { project }, version: known.version },
      ),
    onSuccess: () => refreshConnections(project, projectDestinationsQuery(project).queryKey),
    onError,
  });
  if (rotate.data) {
    const { signingSecret, previousValidUntil } = rotate.data;
    return (
      <SigningSecretDialog
        secret={signingSecret}
        note={`Until ${formatDate(previousValidUntil, "medium")}, webhooks are signed with the old one too.`}
        close={close}
      />
    );
  }
  return (
    <ConfirmDialog
      title="Rotate the signing secret?"
      action="Rotate secret"
      mutation={{ ...rotate, error: errorOf(rotate.error) }}
      close={close}
      note={note}
    >
      <b className="font-semibold text-ink">{destination.name}</b> gets a new secret. For a day, webhooks are
      signed with both, so that your server can change to the new one.
    </ConfirmDialog>
  );
}

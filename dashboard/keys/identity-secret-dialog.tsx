import { useMutation } from "@tanstack/react-query";
import type { Key } from "../../server/schemas/key.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { keysQuery } from "./key-table.tsx";

const signing = `import { createHmac } from "node:crypto";

const signature = createHmac("sha256", process.env.TIDINGS_IDENTITY_SECRET).update(userId).digest("hex");`;

/** Creates the secret with which a server signs the IDs of its users, and shows it for the only time. */
export function IdentitySecretDialog({ apiKey, close }: { apiKey: Key; close: () => void }) {
  const project = useProjectSlug();
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; identitySecret: string }>(`/api/keys/${apiKey.id}/identity-secret`, {
        method: "POST",
        query: { project },
      }),
    onSuccess: () => refreshConnections(project, keysQuery(project).queryKey),
  });

  if (create.data)
    return (
      <Dialog
        open
        wide
        onOpenChange={close}
        title="Your secret for signatures"
        description="Copy it now. You won't see it again. Keep it on your server, never in a page."
      >
        <div className="flex flex-col gap-4">
          <SecretBox secret={create.data.identitySecret} />
          <CodeBlock label="Sign a user's ID on your server" code={signing} copyLabel="Copy code" />
        </div>
        <DialogButtons>
          <Button variant="solid" onClick={close}>
            Done
          </Button>
        </DialogButtons>
      </Dialog>
    );

  return (
    <FormDialog
      title={
        apiKey.hasIdentitySecret ? "Replace the secret for signatures?" : "Create a secret for signatures?"
      }
      description={
        <span className="hostile block">
          With <b className="font-semibold text-ink">{apiKey.name}</b>, a page can join its visitor's
          anonymous ID to the user who signed in, if your server has signed the user's ID with this secret.
          {apiKey.hasIdentitySecret && " Signatures with the present secret stop working at once."}
        </span>
      }
      error={create.error}
      action={apiKey.hasIdentitySecret ? "Replace secret" : "Create secret"}
      busy={create.isPending}
      danger={apiKey.hasIdentitySecret}
      submit={() => create.mutate()}
      close={close}
    />
  );
}

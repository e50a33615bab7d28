import { useMutation, useQuery } from "@tanstack/react-query";
import { KeyRound, Pencil, Plus, X } from "lucide-react";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Passkey } from "../../server/schemas/account.ts";
import { api } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { NameDialog } from "../components/ui/name-dialog.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { refresh } from "../queries.ts";
import { Panel } from "../settings/group.tsx";
import { accountQuery, signInOptionsQuery, useAccount } from "./account-query.ts";
import { SecurityAlert } from "./current-password.tsx";
import { addPasskey, passkeyObstacle } from "./webauthn.ts";

export function Passkeys() {
  const { passkeys } = useAccount();
  const { data: options } = useQuery(signInOptionsQuery);
  const [renaming, setRenaming] = useState<Passkey | null>(null);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const add = useMutation({
    mutationFn: addPasskey,
    onSuccess: () => refresh(accountQuery.queryKey),
  });
  const obstacle = options ? passkeyObstacle(options.passkeyHost) : null;
  return (
    <>
      {passkeys.length > 0 && (
        <Panel>
          {passkeys.map((passkey) => (
            <div key={passkey.id} className="flex min-h-14 items-center gap-3 px-4 py-2.5">
              <KeyRound aria-hidden className="size-4 shrink-0 text-faint" />
              <div className="min-w-0 flex-1">
                <p className="hostile font-medium">{passkey.name}</p>
                {passkey.createdAt !== null && (
                  <p className="text-muted text-xs">
                    Added <RelativeTime at={passkey.createdAt} form="long" />
                  </p>
                )}
              </div>
              <RowMenu
                name={passkey.name}
                actions={[
                  { label: "Rename…", icon: Pencil, onSelect: () => setRenaming(passkey) },
                  { label: "Remove…", icon: X, danger: true, onSelect: () => setRemoving(passkey) },
                ]}
              />
            </div>
          ))}
        </Panel>
      )}
      <SecurityAlert error={add.error} />
      {obstacle === null ? (
        <Button className="self-start" busy={add.isPending} onClick={() => add.mutate()}>
          {!add.isPending && <Plus aria-hidden className="size-4" />}
          Add a passkey
        </Button>
      ) : (
        <p className="hostile text-muted text-sm">{obstacle}</p>
      )}
      {renaming && <RenameDialog passkey={renaming} close={() => setRenaming(null)} />}
      {removing && <RemoveDialog passkey={removing} close={() => setRemoving(null)} />}
    </>
  );
}

const pathOf = ({ id }: Passkey) => `/api/account/passkeys/${encodeURIComponent(id)}`;

function RenameDialog({ passkey, close }: { passkey: Passkey; close: () => void }) {
  const rename = useMutation({
    mutationFn: (name: string) => api(pathOf(passkey), { method: "PATCH", body: { name } }),
    async onSuccess() {
      await refresh(accountQuery.queryKey);
      close();
    },
  });
  return (
    <NameDialog
      title="Rename passkey"
      description="Name it after the device or password manager that holds it."
      create={rename}
      action="Rename"
      close={close}
      field={{ maxLength: limits.passkeyNameCharacters, placeholder: passkey.name }}
    />
  );
}

function RemoveDialog({ passkey, close }: { passkey: Passkey; close: () => void }) {
  const remove = useMutation({
    mutationFn: () => api(pathOf(passkey), { method: "DELETE" }),
    async onSuccess() {
      await refresh(accountQuery.queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Remove this passkey?" action="Remove passkey" mutation={remove} close={close}>
      You can no longer sign in with "{passkey.name}". Remove it on the device, too.
    </ConfirmDialog>
  );
}

import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import type { Key } from "../../server/wire/key.ts";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { KeyTable, keysQuery } from "./key-table.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";
import { RevokeDialog } from "./revoke-dialog.tsx";

export function KeysPage() {
  const project = useProjectSlug();
  const { data: keys, error, refetch } = useQuery(keysQuery(project));
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const newKey = (
    <Button variant="solid" onClick={() => setCreating(true)}>
      <Plus aria-hidden className="size-4" />
      New API key
    </Button>
  );
  return (
    <>
      <PageHeader title="API keys" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-4xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-lg text-muted text-sm">
              Applications send events with a key in the{" "}
              <code className="whitespace-nowrap font-mono text-ink text-xs">X-API-KEY</code> header. A key
              can send, read and delete this project's events, and manage its channels and users. Keep it
              secret.
            </p>
            {keys && keys.length > 0 && newKey}
          </div>
          {error && !keys ? (
            <ErrorState title="API keys couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !keys ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : keys.length === 0 ? (
            <EmptyState icon={<KeyRound aria-hidden />} title="No API keys yet" action={newKey}>
              Create one for each application, so you can revoke them separately.
            </EmptyState>
          ) : (
            <KeyTable keys={keys} revoke={setRevoking} />
          )}
        </div>
      </div>
      {creating && <NewKeyDialog close={() => setCreating(false)} />}
      {revoking && <RevokeDialog apiKey={revoking} close={() => setRevoking(null)} />}
    </>
  );
}

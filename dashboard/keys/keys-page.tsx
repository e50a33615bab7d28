import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import type { Key } from "../../server/wire/key.ts";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { ExampleTabs } from "../setup/example-tabs.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { ExistingSdks } from "./existing-sdks.tsx";
import { EditKeyDialog, NewKeyDialog } from "./key-dialogs.tsx";
import { KeyTable, keysQuery } from "./key-table.tsx";
import { RevokeDialog } from "./revoke-dialog.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";

/** Dialogs for a key. */
const dialogs = { edit: EditKeyDialog, rotate: RotateDialog, revoke: RevokeDialog };

export function KeysPage() {
  const project = useProjectSlug();
  const { data: keys, error, refetch } = useQuery(keysQuery(project));
  const [creating, setCreating] = useState(false);
  const [opened, setOpened] = useState<{ dialog: keyof typeof dialogs; key: Key } | null>(null);
  const open = (dialog: keyof typeof dialogs) => (key: Key) => setOpened({ dialog, key });
  const Opened = opened && dialogs[opened.dialog];
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
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-lg text-muted text-sm">
              Applications send and read this project's events with a key in the{" "}
              <code className="whitespace-nowrap font-mono text-ink text-xs">X-API-KEY</code> header. Keep
              secret keys on your servers. A publishable key only sends events, so a web page may contain it.
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
            <KeyTable keys={keys} edit={open("edit")} rotate={open("rotate")} revoke={open("revoke")} />
          )}
          {keys && (
            <section aria-label="How to send events" className="mt-4 flex max-w-2xl flex-col gap-3">
              <h2 className="font-semibold text-sm">How to send events</h2>
              <ExampleTabs apiKey="YOUR_API_KEY" />
            </section>
          )}
          {keys && <ExistingSdks />}
        </div>
      </div>
      {creating && <NewKeyDialog close={() => setCreating(false)} />}
      {Opened && <Opened apiKey={opened.key} close={() => setOpened(null)} />}
    </>
  );
}

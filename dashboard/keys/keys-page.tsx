import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Key } from "../../server/schemas/key.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ExampleTabs } from "../setup/example-tabs.tsx";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { ExistingSdks } from "./existing-sdks.tsx";
import { IdentitySecretDialog } from "./identity-secret-dialog.tsx";
import { EditKeyDialog, NewKeyDialog } from "./key-dialogs.tsx";
import { KeyTable, keysQuery } from "./key-table.tsx";
import { RevokeDialog } from "./revoke-dialog.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";
import { WebsiteLine } from "./website-line.tsx";

/** Dialogs for a key. */
const dialogs = {
  edit: EditKeyDialog,
  rotate: RotateDialog,
  sign: IdentitySecretDialog,
  revoke: RevokeDialog,
};

export function KeysPage() {
  const query = useQuery(keysQuery(useProjectSlug()));
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Key, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  return (
    <>
      <ListPage
        title="API keys"
        intro={
          <>
            Applications send and read this project's events with a key in the{" "}
            <code className="whitespace-nowrap font-mono text-ink text-xs">X-API-KEY</code> header. Keep
            secret keys on your servers. A publishable key only sends events, so a web page may contain it.
          </>
        }
        query={query}
        empty={{
          icon: <KeyRound aria-hidden />,
          title: "No API keys yet",
          text: "Create one for each application, so that you can revoke them separately.",
        }}
        create={{ label: "New API key", open: () => setCreating(true) }}
        list={(keys) => (
          <KeyTable
            keys={keys}
            edit={open("edit")}
            rotate={open("rotate")}
            sign={open("sign")}
            revoke={open("revoke")}
          />
        )}
      >
        <section aria-label="How to send events" className="mt-4 flex flex-col gap-3">
          <h2 className="font-semibold text-sm">How to send events</h2>
          <ExampleTabs apiKey="YOUR_API_KEY" />
        </section>
        <WebsiteLine />
        <ExistingSdks />
      </ListPage>
      {creating && <NewKeyDialog close={() => setCreating(false)} />}
      {Opened && <Opened apiKey={opened.item} close={close} />}
    </>
  );
}

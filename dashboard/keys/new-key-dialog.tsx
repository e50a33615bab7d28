import { useMutation } from "@tanstack/react-query";
import { limits } from "../../server/limits.ts";
import type { Key } from "../../server/wire/key.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { NameDialog } from "../components/ui/name-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { curlCommand } from "../setup/curl-command.ts";
import { keysQuery } from "./key-table.tsx";

export function NewKeyDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const create = useMutation({
    mutationFn: (name: string) =>
      api<{ ok: true; key: Key; secret: string }>("/api/keys", {
        method: "POST",
        query: { project },
        body: { name },
      }),
    onSuccess: () => refresh(keysQuery(project).queryKey),
  });

  if (create.data) {
    const { secret } = create.data;
    return (
      <Dialog
        open
        wide
        onOpenChange={close}
        title="Your new API key"
        description="Copy it now. You won't see it again."
      >
        <div className="flex flex-col gap-4">
          <SecretBox secret={secret} />
          <CodeBlock
            label="Try it in a terminal"
            code={curlCommand({ key: secret })}
            copyLabel="Copy command"
          />
        </div>
        <DialogButtons>
          <Button variant="solid" onClick={close}>
            Done
          </Button>
        </DialogButtons>
      </Dialog>
    );
  }

  return (
    <NameDialog
      title="New API key"
      description="Name it after the application that will use it."
      create={create}
      action="Create key"
      close={close}
      field={{ maxLength: limits.keyNameCharacters, placeholder: "Production" }}
    />
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Key } from "../../server/wire/key.ts";
import { limits } from "../../server/wire/limits.ts";
import { useMe } from "../account/me.ts";
import { api } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { curlLine } from "../setup/curl-line.ts";
import { keysQuery } from "./keys.ts";
import { SecretBox } from "./secret-box.tsx";

export function NewKeyDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const queries = useQueryClient();
  const { baseUrl } = useMe();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; key: Key; secret: string }>("/api/keys", {
        method: "POST",
        query: { project },
        body: { name },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: keysQuery(project).queryKey }),
  });
  const fault = faultOfForm(create.error, ["name"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  if (create.data) {
    const { secret } = create.data;
    return (
      <Dialog
        open
        wide
        onOpenChange={close}
        title="Your new key"
        description="Copy it now: it is shown only this once."
      >
        <div className="flex flex-col gap-4">
          <SecretBox secret={secret} />
          <CodeBlock
            label="Try it in a terminal"
            code={curlLine({ baseUrl, key: secret })}
            copyLabel="Copy line"
          />
        </div>
        <DialogButtons>
          <Button look="solid" onClick={close}>
            Done
          </Button>
        </DialogButtons>
      </Dialog>
    );
  }

  return (
    <Dialog open onOpenChange={close} title="New key" description="Name it after what will use it.">
      <form onSubmit={submit} className="flex flex-col gap-4">
        {fault && <Alert>{fault}</Alert>}
        <Field
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          maxLength={limits.keyNameCharacters}
          autoComplete="off"
          placeholder="Production"
          fault={faultOf(create.error, "name")}
        />
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="solid" type="submit" busy={create.isPending}>
            Create key
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Channel } from "../../server/wire/channel.ts";
import { limits } from "../../server/wire/limits.ts";
import { api } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { channelsQuery } from "./channels.ts";
import { IconField } from "./icon-field.tsx";

export default function NewChannelDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [icon, setIcon] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; channel: Channel }>("/api/channels", {
        method: "POST",
        query: { project },
        body: { name: name.trim(), ...(icon && { icon }) },
      }),
    onSuccess({ channel }) {
      void queries.invalidateQueries({ queryKey: channelsQuery(project).queryKey });
      close();
      const params = { project, channel: channel.id };
      void navigate({ to: "/p/$project/channels/$channel", params, search: {} });
    },
  });
  const fault = faultOfForm(create.error, ["name", "icon"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title="New channel"
      description="A channel holds events of one kind, such as payments or logins."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {fault && <Alert>{fault}</Alert>}
        <Field
          label="Name"
          hint="Short and simple. Events name it to get here."
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          maxLength={limits.channelCharacters}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="payments"
          fault={faultOf(create.error, "name")}
        />
        <IconField icon={icon} onChange={setIcon} fault={faultOf(create.error, "icon")} />
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="solid" type="submit" busy={create.isPending}>
            Create channel
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

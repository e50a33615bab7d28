import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Channel } from "../../server/schemas/channel.ts";
import { api } from "../api.ts";
import { NameDialog } from "../components/ui/name-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { channelsQuery } from "./channels.ts";
import { IconField } from "./icon-field.tsx";

export default function NewChannelDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const [icon, setIcon] = useState("");
  const create = useMutation({
    mutationFn: (name: string) =>
      api<{ ok: true; channel: Channel }>("/api/channels", {
        method: "POST",
        query: { project },
        body: { name, ...(icon && { icon }) },
      }),
    onSuccess({ channel }) {
      void refresh(channelsQuery(project).queryKey);
      close();
      const params = { project, channel: channel.id };
      void navigate({ to: "/p/$project/channels/$channel", params, search: {} });
    },
  });
  return (
    <NameDialog
      title="New channel"
      description="A channel holds events of one kind, such as payments or logins."
      create={create}
      action="Create channel"
      close={close}
      field={{
        hint: (
          <>
            Use this name as <code className="font-mono">channel</code> when sending events.
          </>
        ),
        maxLength: limits.channelCharacters,
        placeholder: "payments",
        autoCapitalize: "none",
        spellCheck: false,
      }}
    >
      <IconField icon={icon} onChange={setIcon} />
    </NameDialog>
  );
}

import { useQuery } from "@tanstack/react-query";
import { HeartPulse } from "lucide-react";
import { useState } from "react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { DraftNote, useDrafts } from "../edits/draft-note.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { DeleteHeartbeatDialog, RotateHeartbeatDialog } from "./confirm-dialogs.tsx";
import { EditHeartbeatDialog, NewHeartbeatDialog } from "./heartbeat-dialogs.tsx";
import type { HeartbeatForm } from "./heartbeat-form.ts";
import { HeartbeatTable } from "./heartbeat-table.tsx";
import { heartbeatsQuery } from "./heartbeats.ts";

/** Dialogs for a heartbeat. */
const dialogs = { edit: EditHeartbeatDialog, rotate: RotateHeartbeatDialog, remove: DeleteHeartbeatDialog };

export function HeartbeatsPage() {
  const project = useProjectSlug();
  const query = useQuery(heartbeatsQuery(project));
  const canManage = useCan()("heartbeats:manage");
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Heartbeat, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  const { drafts, update, discard } = useDrafts<Heartbeat, HeartbeatForm>("heartbeat");
  return (
    <>
      <ListPage
        title="Heartbeats"
        intro="Cron jobs, backups and workers ping an address when they run. If a ping stays away, or says that it failed, the heartbeat is down and Tidings notifies you."
        query={query}
        empty={{
          icon: <HeartPulse aria-hidden />,
          title: "No heartbeats yet",
          text: canManage
            ? "Create one, and let your job request its address when it has succeeded."
            : "Owners and admins can create heartbeats.",
        }}
        create={canManage && { label: "New heartbeat", open: () => setCreating(true) }}
        notes={
          canManage &&
          !opened &&
          !creating &&
          drafts.map(({ key, base, form, ...draft }) => (
            <DraftNote
              key={key}
              of={base ? `the heartbeat ${base.name}` : "a new heartbeat"}
              draft={draft}
              resume={() => (base ? open("edit")(base) : setCreating(true))}
              discard={() => discard(key)}
            />
          ))
        }
        list={(heartbeats) => (
          <HeartbeatTable
            heartbeats={heartbeats}
            edit={open("edit")}
            rotate={open("rotate")}
            remove={open("remove")}
          />
        )}
      >
        {canManage && query.data?.length === 0 && (
          <div className="-mt-6 mx-auto w-full max-w-2xl">
            <CodeBlock
              label="Or let the first ping create it, with an API key"
              code={`curl -fsS -m 10 --retry 5 "${location.origin}/ping/$TIDINGS_API_KEY/nightly-backup?create=1"`}
            />
          </div>
        )}
      </ListPage>
      {creating && (
        <NewHeartbeatDialog
          close={() => {
            setCreating(false);
            update();
          }}
        />
      )}
      {Opened && (
        <Opened
          key={opened.item.id}
          heartbeat={opened.item}
          close={() => {
            close();
            update();
          }}
        />
      )}
    </>
  );
}

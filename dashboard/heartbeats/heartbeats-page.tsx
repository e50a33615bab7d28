import { useQuery } from "@tanstack/react-query";
import { HeartPulse } from "lucide-react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { DeleteHeartbeatDialog, RotateHeartbeatDialog } from "./confirm-dialogs.tsx";
import { EditHeartbeatDialog, NewHeartbeatDialog } from "./heartbeat-dialogs.tsx";
import { HeartbeatTable } from "./heartbeat-table.tsx";
import { heartbeatsQuery } from "./heartbeats.ts";

export function HeartbeatsPage() {
  const project = useProjectSlug();
  const query = useQuery(heartbeatsQuery(project));
  const canManage = useCan()("heartbeats:manage");
  const { create, open, notes, dialog } = useListDialogs<Heartbeat, "rotate" | "remove">({
    kind: "heartbeat",
    noun: "heartbeat",
    nameOf: ({ name }) => name,
    canEdit: canManage,
    Create: NewHeartbeatDialog,
    dialogs: {
      edit: (heartbeat, close) => <EditHeartbeatDialog heartbeat={heartbeat} close={close} />,
      rotate: (heartbeat, close) => <RotateHeartbeatDialog heartbeat={heartbeat} close={close} />,
      remove: (heartbeat, close) => <DeleteHeartbeatDialog heartbeat={heartbeat} close={close} />,
    },
  });
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
        create={canManage && { label: "New heartbeat", open: create }}
        notes={notes}
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
      {dialog}
    </>
  );
}

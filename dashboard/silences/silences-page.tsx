import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { BellOff } from "lucide-react";
import { useId } from "react";
import type { Silence } from "../../server/schemas/silence.ts";
import { Button } from "../components/ui/button.tsx";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { DeleteSilenceDialog, EditSilenceDialog, NewSilenceDialog } from "./silence-dialogs.tsx";
import { SilenceTable } from "./silence-table.tsx";
import { comingSilencesQuery, endedSilencesQuery } from "./silences.ts";

/** The silences of a project: those that are active or planned, and those that ended. */
export function SilencesPage() {
  const project = useProjectSlug();
  const query = useQuery(comingSilencesQuery(project));
  const canChange = useCan()("silences:change");
  const { create, open, notes, dialog } = useListDialogs<Silence, "remove">({
    kind: "silence",
    noun: "silence",
    nameOf: ({ reason }) => reason,
    canEdit: canChange,
    Create: NewSilenceDialog,
    dialogs: {
      edit: (silence, close) => <EditSilenceDialog silence={silence} close={close} />,
      remove: (silence, close) => <DeleteSilenceDialog silence={silence} close={close} />,
    },
  });
  return (
    <>
      <ListPage
        title="Silences"
        intro="While a silence is active, what it covers notifies nobody: during a deployment, or while a database moves. Events are recorded and alerts open as ever, and those still open at its end are told of then."
        query={query}
        empty={{
          icon: <BellOff aria-hidden />,
          title: "Nothing is silenced",
          text: canChange
            ? "Plan a silence for a time in which you expect alerts."
            : "Members can plan silences.",
        }}
        create={canChange && { label: "New silence", open: create }}
        notes={notes}
        list={(silences) => <SilenceTable silences={silences} edit={open("edit")} remove={open("remove")} />}
      >
        <EndedSilences project={project} />
      </ListPage>
      {dialog}
    </>
  );
}

function EndedSilences({ project }: { project: string }) {
  const id = useId();
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    endedSilencesQuery(project),
  );
  const silences = data?.pages.flatMap((page) => page.silences) ?? [];
  if (silences.length === 0) return null;
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3">
      <h2 id={id} className="font-semibold text-base">
        Ended
      </h2>
      <SilenceTable silences={silences} />
      {hasNextPage && (
        <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </section>
  );
}

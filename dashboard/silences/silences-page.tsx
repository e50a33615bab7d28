import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { BellOff } from "lucide-react";
import { useId, useState } from "react";
import type { Silence } from "../../server/schemas/silence.ts";
import { Button } from "../components/ui/button.tsx";
import { DraftNote, useDrafts } from "../edits/draft-note.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { DeleteSilenceDialog, EditSilenceDialog, NewSilenceDialog } from "./silence-dialogs.tsx";
import type { SilenceForm } from "./silence-form.ts";
import { SilenceTable } from "./silence-table.tsx";
import { comingSilencesQuery, endedSilencesQuery } from "./silences.ts";

/** Dialogs for a silence. */
const dialogs = { edit: EditSilenceDialog, remove: DeleteSilenceDialog };

/** The silences of a project: those that are active or planned, and those that ended. */
export function SilencesPage() {
  const project = useProjectSlug();
  const query = useQuery(comingSilencesQuery(project));
  const canChange = useCan()("silences:change");
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Silence, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  const { drafts, update, discard } = useDrafts<Silence, SilenceForm>("silence");
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
        create={canChange && { label: "New silence", open: () => setCreating(true) }}
        notes={
          canChange &&
          !opened &&
          !creating &&
          drafts.map(({ key, base, form, ...draft }) => (
            <DraftNote
              key={key}
              of={base ? `the silence ${base.reason}` : "a new silence"}
              draft={draft}
              resume={() => (base ? open("edit")(base) : setCreating(true))}
              discard={() => discard(key)}
            />
          ))
        }
        list={(silences) => <SilenceTable silences={silences} edit={open("edit")} remove={open("remove")} />}
      >
        <EndedSilences project={project} />
      </ListPage>
      {creating && (
        <NewSilenceDialog
          close={() => {
            setCreating(false);
            update();
          }}
        />
      )}
      {Opened && (
        <Opened
          key={opened.item.id}
          silence={opened.item}
          close={() => {
            close();
            update();
          }}
        />
      )}
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

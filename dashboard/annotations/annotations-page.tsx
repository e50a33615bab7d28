import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Milestone } from "lucide-react";
import type { Annotation } from "../../server/schemas/annotation.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { DeleteAnnotationDialog, EditAnnotationDialog, NewAnnotationDialog } from "./annotation-dialogs.tsx";
import { AnnotationTable } from "./annotation-table.tsx";
import { annotationsQuery } from "./annotations.ts";

/** Lists the marks of charts over time: events of searches, and notes. */
export function AnnotationsPage() {
  const project = useProjectSlug();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    annotationsQuery(project),
  );
  const canChange = useCan()("annotations:change");
  const { create, open, notes, dialog } = useListDialogs<Annotation, "remove">({
    kind: "annotation",
    noun: "annotation",
    nameOf: ({ name }) => name,
    canEdit: canChange,
    Create: NewAnnotationDialog,
    dialogs: {
      edit: (annotation, close) => <EditAnnotationDialog annotation={annotation} close={close} />,
      remove: (annotation, close) => <DeleteAnnotationDialog annotation={annotation} close={close} />,
    },
  });
  return (
    <>
      <ListPage
        title="Annotations"
        intro="Charts over time mark deployments and other events that you choose, and notes of your team: they tell why a number has changed."
        query={{ data: data?.pages.flatMap((page) => page.annotations), error, refetch }}
        empty={{
          icon: <Milestone aria-hidden />,
          title: "Charts have no marks",
          text: canChange
            ? "Mark the events of a search, such as channel:deploys, or write a note."
            : "Members can mark events and write notes.",
        }}
        create={canChange && { label: "New annotation", open: create }}
        links={
          <Link to="/p/$project/boards" params={{ project }} className={buttonClass()}>
            View boards
          </Link>
        }
        notes={notes}
        list={(annotations) => (
          <AnnotationTable annotations={annotations} edit={open("edit")} remove={open("remove")} />
        )}
      >
        {hasNextPage && (
          <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older
          </Button>
        )}
      </ListPage>
      {dialog}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pencil, Trash2, UsersRound } from "lucide-react";
import type { Cohort } from "../../server/schemas/cohort.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { buttonClass } from "../components/ui/button.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { DeleteCohortDialog, EditCohortDialog, NewCohortDialog } from "./cohort-dialogs.tsx";
import { cohortText } from "./cohort-text.ts";
import { cohortsQuery } from "./cohorts.ts";

/** The cohorts of a project: saved searches of people. */
export function CohortsPage() {
  const project = useProjectSlug();
  const query = useQuery(cohortsQuery(project));
  const canChange = useCan()("cohorts:change");
  const { create, open, notes, dialog } = useListDialogs<Cohort, "remove">({
    kind: "cohort",
    noun: "cohort",
    nameOf: ({ name }) => name,
    canEdit: canChange,
    Create: NewCohortDialog,
    dialogs: {
      edit: (cohort, close) => <EditCohortDialog cohort={cohort} close={close} />,
      remove: (cohort, close) => <DeleteCohortDialog cohort={cohort} close={close} />,
    },
  });
  return (
    <>
      <ListPage
        title="Cohorts"
        intro={
          <>
            A cohort is a saved search of people: by what they are, and what they did or didn't do. Write{" "}
            <code className="font-mono text-xs">cohort:NAME</code> wherever you search: in the feed, on
            boards, in rules, in each step of a funnel.
          </>
        }
        query={query}
        empty={{
          icon: <UsersRound aria-hidden />,
          title: "No cohorts yet",
          text: canChange
            ? "Create one for the people you ask about often, such as active customers."
            : "Members can create cohorts.",
        }}
        create={canChange && { label: "New cohort", open: create }}
        links={
          <Link to="/p/$project/users" params={{ project }} search={{}} className={buttonClass()}>
            All users
          </Link>
        }
        notes={notes}
        list={(cohorts) => (
          <CardTable columns={["Cohort", "Conditions", "People", "Computed"]} hasActions={canChange}>
            {cohorts.map((cohort) => (
              <Row
                key={cohort.id}
                project={project}
                cohort={cohort}
                {...(canChange && { edit: open("edit"), remove: open("remove") })}
              />
            ))}
          </CardTable>
        )}
      />
      {dialog}
    </>
  );
}

type RowProps = {
  project: string;
  cohort: Cohort;
  edit?: (cohort: Cohort) => void;
  remove?: (cohort: Cohort) => void;
};

function Row({ project, cohort, edit, remove }: RowProps) {
  const { id, name, people, computedAt, failure } = cohort;
  return (
    <CardRow>
      <th scope="row" className="min-w-0 text-left font-medium">
        <Link
          to="/p/$project/cohorts/$cohort"
          params={{ project, cohort: id }}
          className="hostile hover:underline"
        >
          {name}
        </Link>
      </th>
      <td className="min-w-0 text-muted">
        <span className="hostile line-clamp-3">{cohortText(cohort)}</span>
        {failure !== null && <span className="hostile block text-danger text-xs">{failure}</span>}
      </td>
      <td className="whitespace-nowrap tabular-nums">
        <span className="@2xl:sr-only text-muted">People: </span>
        {people === null ? "…" : formatNumber(people)}
      </td>
      <td className="whitespace-nowrap text-muted">
        <span className="@2xl:sr-only">Computed </span>
        {computedAt === null ? "Not yet" : <RelativeTime at={computedAt} form="long" />}
      </td>
      {edit && remove && (
        <RowActions>
          <RowMenu
            name={name}
            actions={[
              { label: "Edit…", icon: Pencil, onSelect: () => edit(cohort) },
              { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(cohort) },
            ]}
          />
        </RowActions>
      )}
    </CardRow>
  );
}

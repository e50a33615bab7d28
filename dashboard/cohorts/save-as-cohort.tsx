import { useNavigate } from "@tanstack/react-router";
import { UsersRound } from "lucide-react";
import { useState } from "react";
import type { CohortDraft } from "../../server/schemas/cohort.ts";
import { Button } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { NewCohortDialog } from "./cohort-dialogs.tsx";
import { formOf } from "./cohort-form.ts";

type Props = {
  /** The conditions of the cohort, which can take a request. */
  conditions: () => CohortDraft["conditions"] | Promise<CohortDraft["conditions"]>;
  /** Why a list can't be saved. */
  disabledBecause?: string | undefined;
};

/** A button that makes a list of people a cohort: it asks for a name, and shows the conditions. */
export function SaveAsCohort({ conditions, disabledBecause }: Props) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const canChange = useCan()("cohorts:change");
  const [given, setGiven] = useState<CohortDraft["conditions"] | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (!canChange) return null;
  return (
    <>
      <Button
        busy={isBusy}
        disabled={disabledBecause !== undefined}
        title={disabledBecause}
        onClick={async () => {
          setBusy(true);
          try {
            setGiven(await conditions());
          } finally {
            setBusy(false);
          }
        }}
      >
        <UsersRound aria-hidden className="size-4" />
        Save as cohort
      </Button>
      {given && (
        <NewCohortDialog
          given={formOf({ name: "", match: "all", conditions: given })}
          created={({ id }) =>
            void navigate({ to: "/p/$project/cohorts/$cohort", params: { project, cohort: id } })
          }
          close={() => setGiven(null)}
        />
      )}
    </>
  );
}

import type { LastChange } from "../../server/core/problems.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { ChangeSentence, useChangedBy } from "./changed-by.tsx";

export type GoneDialogProps = {
  /** The noun for the deleted thing: "rule". */
  what: string;
  isOwn: boolean;
  change: LastChange | undefined;
  /** Creates the thing again from the form. Without it, that is impossible. */
  recreate?: () => void;
  back: () => void;
};

/** Says that somebody has deleted the edited thing. */
export default function GoneDialog({ what, isOwn, change, recreate, back }: GoneDialogProps) {
  const who = useChangedBy(change, isOwn);
  return (
    <Dialog
      open
      onOpenChange={back}
      title={`This ${what} was deleted`}
      description={
        <span className="hostile block">
          <ChangeSentence who={who} verb="deleted" change={change} /> What you have entered is still here.
        </span>
      }
    >
      <DialogButtons>
        <Button variant="ghost" onClick={back}>
          Back
        </Button>
        {recreate && (
          <Button variant="solid" onClick={recreate}>
            Create it again
          </Button>
        )}
      </DialogButtons>
    </Dialog>
  );
}

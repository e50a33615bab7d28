import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { IdOfUser, User } from "../../server/schemas/user.ts";
import { countOf } from "../components/counts.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { idsBelow, refreshPeople, splitUser } from "./people.ts";

type Props = { project: string; user: User; id: IdOfUser; close: () => void };

/** Splits an ID off a person. */
export function SplitDialog({ project, user, id, close }: Props) {
  const queries = useQueryClient();
  const split = useMutation({
    mutationFn: () => splitUser(project, id.userId),
    async onSuccess() {
      close();
      await refreshPeople(queries, project);
    },
  });
  const others = idsBelow(user, id.userId).length - 1;
  return (
    <ConfirmDialog title="Split off this ID?" action="Split off" mutation={split} close={close}>
      <bdi>{id.userId}</bdi> becomes a user of its own again
      {others > 0 && <>, with {countOf(others, "ID", "IDs")} that were joined to it</>}. Its events, also past
      ones, no longer count for <bdi>{user.userId}</bdi>. It gets its own properties back. Your application's
      calls don't join it again.
    </ConfirmDialog>
  );
}

import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { User } from "../../server/schemas/user.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { eraseUser } from "./users.ts";

type EraseDialogProps = { project: string; user: User; close: () => void };

/** Starts the erasure; the user's page then shows its progress and receipt. */
export function EraseDialog({ project, user: { userId, ids }, close }: EraseDialogProps) {
  const navigate = useNavigate();
  const erase = useMutation({
    mutationFn: async () => {
      const { job } = await eraseUser(project, userId);
      close();
      await navigate({
        to: "/p/$project/users/$userId",
        params: { project, userId },
        search: { erasure: job.id },
        replace: true,
      });
    },
  });
  return (
    <ConfirmDialog
      title="Erase this user?"
      action="Erase user"
      mutation={erase}
      close={close}
      confirmationText="erase"
    >
      All events of {userId}
      {ids.length > 1 && <>, by {ids.length === 2 ? "both IDs" : `all ${ids.length} IDs`}</>}, their
      properties, and everything else that names them are permanently removed from all files.
    </ConfirmDialog>
  );
}

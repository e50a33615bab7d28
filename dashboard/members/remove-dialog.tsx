import { useMutation } from "@tanstack/react-query";
import type { Member } from "../../server/schemas/member.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refreshMembers } from "./members.ts";

export function RemoveDialog({ member, close }: { member: Member; close: () => void }) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/members/${member.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshMembers(project);
      close();
    },
  });
  return (
    <ConfirmDialog title="Remove this member?" action="Remove" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{member.name}</b> ({member.email}) no longer sees this project,
      effective immediately, and gets no more notifications. API keys that they created keep working.
    </ConfirmDialog>
  );
}

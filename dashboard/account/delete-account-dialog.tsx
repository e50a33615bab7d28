import { useMutation } from "@tanstack/react-query";
import { api } from "../api.ts";
import { PasswordDialog } from "./password-dialog.tsx";
import { beginSigningOut } from "./session.ts";

export function DeleteAccountDialog({ close }: { close: () => void }) {
  const remove = useMutation({
    mutationFn: (password: string) =>
      api("/api/account/delete", { method: "POST", body: password ? { password } : {} }),
    onSuccess() {
      beginSigningOut(true);
      location.assign("/sign-in");
    },
  });
  return (
    <PasswordDialog
      title="Delete your account?"
      description="You lose access to all projects at once. Projects with no other member are deleted with their events. This can't be undone."
      action="Delete account"
      danger
      mutation={remove}
      close={close}
    />
  );
}

import { Button } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/dialog.tsx";
import { queries } from "../queries.ts";
import { meQuery, useMe } from "./me.ts";
import { sessionRenewed } from "./session.ts";
import { SignInForm } from "./sign-in-form.tsx";

/** Asks to sign in again, on top of whatever is open. */
export default function SessionDialog() {
  const { account } = useMe();

  async function onDone() {
    // A passkey can be another account's.
    const me = await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    if (me.account.id !== account.id) location.reload();
    else sessionRenewed();
  }

  return (
    <Dialog
      open
      onOpenChange={() => {}}
      closable={false}
      title="Your session has ended"
      description="Sign in again to continue where you were."
    >
      <SignInForm
        email={account.email}
        next={location.pathname + location.search}
        onDone={() => void onDone()}
      />
      <Button variant="ghost" className="mt-3 w-full" onClick={() => location.assign("/sign-in")}>
        Use another account
      </Button>
    </Dialog>
  );
}

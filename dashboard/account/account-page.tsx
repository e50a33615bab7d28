import { useQuery } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { Group } from "../settings/group.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { accountQuery } from "./account-query.ts";
import { DeleteAccountDialog } from "./delete-account-dialog.tsx";
import { Passkeys } from "./passkeys.tsx";
import { PasswordForm } from "./password-form.tsx";
import { Profile } from "./profile.tsx";
import { SessionList } from "./session-list.tsx";
import { useSignOut } from "./sign-out.ts";
import { TwoFactor } from "./two-factor.tsx";

export function AccountPage() {
  const { data: account, error, refetch } = useQuery(accountQuery);
  const signOut = useSignOut();
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <PageHeader title="Account">
        <Button onClick={() => void signOut()}>
          <LogOut aria-hidden className="size-4" />
          Sign out
        </Button>
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-2xl flex-col gap-9 px-4 py-6 md:px-8 md:py-8">
          {error && !account ? (
            <ErrorState title="Your account couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !account ? (
            <Skeleton className="h-96 rounded-lg" />
          ) : (
            <>
              <Group title="Profile">
                <Profile />
              </Group>
              {account.hasPassword && (
                <>
                  <Group title="Password" lead="Changing it signs you out everywhere else.">
                    <PasswordForm />
                  </Group>
                  <Group
                    title="Two-factor authentication"
                    lead="After your password, sign-in asks for a code from your phone."
                  >
                    <TwoFactor />
                  </Group>
                </>
              )}
              <Group
                title="Passkeys"
                lead="Sign in with your fingerprint, face or screen lock instead of a password and a code."
              >
                <Passkeys />
              </Group>
              <Group title="Sessions" lead="Where you're signed in.">
                <SessionList />
              </Group>
              <Group title="Delete account" lead="Projects with no other member are deleted too.">
                <div className="flex">
                  <Button variant="danger" onClick={() => setDeleting(true)}>
                    Delete account…
                  </Button>
                </div>
              </Group>
            </>
          )}
        </div>
      </div>
      {deleting && <DeleteAccountDialog close={() => setDeleting(false)} />}
    </>
  );
}

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect } from "react";
import type { InvitationPreview } from "../../server/schemas/invitation.ts";
import type { Project } from "../../server/schemas/project.ts";
import { AccountFields, accountBody, useAccountInput } from "../account/account-fields.tsx";
import { AuthLayout } from "../account/auth-layout.tsx";
import { meQuery } from "../account/me.ts";
import { ApiError, api, errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { FormErrors } from "../components/ui/form-errors.tsx";
import { Alert, Skeleton } from "../components/ui/states.tsx";
import { queries } from "../queries.ts";
import { broadcastToTabs } from "../tabs.ts";
import { invitationPath, previewQuery, roleNames } from "./members.ts";

/** The page behind an invitation's link: join with the signed-in account, sign in, or create an account. */
export function InvitationPage() {
  const { token = "" } = useParams({ strict: false });
  const { data: invitation, error, refetch } = useQuery(previewQuery(token));
  const me = useQuery({ ...meQuery, retry: false, staleTime: 0 });
  useEffect(() => {
    document.title = "Invitation · Tidings";
  }, []);

  if (error && !invitation) {
    const isVoid = error instanceof ApiError && error.status === 404;
    return (
      <AuthLayout title={isVoid ? "This invitation doesn't work" : "Invitation"}>
        <Alert>{errorMessage(error)}</Alert>
        {isVoid ? (
          <Link to="/" className={buttonClass({ size: "lg" })}>
            Open Tidings
          </Link>
        ) : (
          <Button onClick={() => void refetch()}>Retry</Button>
        )}
      </AuthLayout>
    );
  }
  if (!invitation || me.isPending) {
    return (
      <AuthLayout title="Invitation">
        <Skeleton className="h-64" />
      </AuthLayout>
    );
  }
  const parts = { token, invitation };
  if (me.data) return <Join {...parts} email={me.data.account.email} />;
  return <SignUp {...parts} />;
}

type Props = { token: string; invitation: InvitationPreview };

/** Says what the invitation leads to. */
function Layout({ invitation, children }: { invitation: InvitationPreview; children: ReactNode }) {
  const { project, invitedBy, role } = invitation;
  return (
    <AuthLayout
      title={`Join ${project}`}
      lead={
        <span className="hostile">
          {invitedBy} invites you to the project {project} as {roleNames[role].article}.{" "}
          {roleNames[role].summary}
        </span>
      }
    >
      {children}
    </AuthLayout>
  );
}

function Join({ token, invitation, email }: Props & { email: string }) {
  const navigate = useNavigate();
  const join = useMutation({
    mutationFn: () =>
      api<{ ok: true; project: Project }>(`${invitationPath(token)}/accept`, { method: "POST" }),
    async onSuccess({ project }) {
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
      await navigate({ to: "/p/$project", params: { project: project.slug }, search: {}, replace: true });
    },
  });
  const signOut = useMutation({
    mutationFn: () => api("/api/auth/sign-out", { method: "POST", body: {} }),
    onSuccess: () => queries.resetQueries({ queryKey: meQuery.queryKey }),
  });
  const isForAnother = invitation.email !== null && invitation.email !== email.toLowerCase();
  const error = join.error ?? signOut.error;
  return (
    <Layout invitation={invitation}>
      {error && <Alert>{errorMessage(error)}</Alert>}
      {isForAnother ? (
        <p className="hostile text-sm">
          This invitation is for {invitation.email}. You're signed in as {email}.
        </p>
      ) : (
        <Button variant="solid" size="lg" busy={join.isPending} onClick={() => join.mutate()}>
          Join as {email}
        </Button>
      )}
      <Button size="lg" busy={signOut.isPending} onClick={() => signOut.mutate()}>
        Use another account
      </Button>
    </Layout>
  );
}

function SignUp({ token, invitation }: Props) {
  const navigate = useNavigate();
  const [account, setAccount] = useAccountInput(invitation.email ?? "");
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; project: Project }>(`${invitationPath(token)}/sign-up`, {
        method: "POST",
        body: accountBody(account),
      }),
    onSuccess({ project }) {
      queries.clear();
      broadcastToTabs({ type: "signed-in" });
      return navigate({ to: "/p/$project", params: { project: project.slug }, search: {}, replace: true });
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }

  return (
    <Layout invitation={invitation}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <FormErrors error={create.error}>
          <AccountFields account={account} onChange={setAccount} emailFixed={invitation.email !== null} />
        </FormErrors>
        <Button variant="solid" size="lg" type="submit" busy={create.isPending} className="mt-2">
          Create account and join
        </Button>
        <Link to="/sign-in" search={{ next: `/invite/${token}` }} className={buttonClass({ size: "lg" })}>
          I have an account
        </Link>
      </form>
    </Layout>
  );
}

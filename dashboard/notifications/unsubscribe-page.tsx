import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { AuthLayout } from "../account/auth-layout.tsx";
import { api, errorMessage } from "../api.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { Alert, Skeleton } from "../components/ui/states.tsx";

type Preview = { ok: true; project: string; email: string; unsubscribed: boolean; report: string | null };

/** The page behind the link in an email. It asks first, because programs that check links open them too. */
export function UnsubscribePage() {
  const { token = "" } = useParams({ strict: false });
  const path = `/unsubscribe/${encodeURIComponent(token)}`;
  const preview = useQuery({ queryKey: ["unsubscribe", token], queryFn: () => api<Preview>(`/api${path}`) });
  const end = useMutation({ mutationFn: () => api(path, { method: "POST" }) });
  useEffect(() => {
    document.title = "Unsubscribe · Tidings";
  }, []);

  const error = preview.error ?? end.error;
  if (!preview.data) {
    return (
      <AuthLayout title="Unsubscribe">
        {error ? (
          <>
            <Alert>{errorMessage(error)}</Alert>
            <Link to="/" className={buttonClass({ size: "lg" })}>
              Open Tidings
            </Link>
          </>
        ) : (
          <Skeleton className="h-24" />
        )}
      </AuthLayout>
    );
  }
  const { project, email, unsubscribed, report } = preview.data;
  if (unsubscribed || end.isSuccess) {
    return (
      <AuthLayout
        title="You're unsubscribed"
        lead={
          <span className="hostile" role="status">
            {report === null
              ? `${project} sends no more email to ${email}. You can resume it in your settings.`
              : `The report of ${report} is off. You can turn it on again under Reports in ${project}.`}
          </span>
        }
      >
        <Link to="/" className={buttonClass({ size: "lg" })}>
          Open Tidings
        </Link>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout
      title="Unsubscribe?"
      lead={
        <span className="hostile">
          {report === null
            ? `${project} will send no more notifications to ${email}. Other projects, and the dashboard, stay as they are.`
            : `The report of ${report} will no longer come to ${email}. Other email of ${project} stays as it is.`}
        </span>
      }
    >
      {error && <Alert>{errorMessage(error)}</Alert>}
      <Button variant="solid" size="lg" busy={end.isPending} onClick={() => end.mutate()}>
        Unsubscribe
      </Button>
    </AuthLayout>
  );
}

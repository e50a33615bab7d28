import { Link, Outlet, useRouter } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { useEffect } from "react";
import { ApiError, isTemporary } from "../api.ts";
import { PartError, reloadOnce } from "../components/lazy-part.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState } from "../components/ui/states.tsx";
import { useServerBack } from "./server-back.ts";
import { Toasts } from "./toasts.tsx";

export function Root() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

/** Replaces a page that failed to load or render; the rest of the dashboard keeps working. */
export function PageError({ error }: { error: unknown }) {
  const router = useRouter();
  const retry = () => void router.invalidate();
  const missing = error instanceof PartError ? error.reason : null;
  const isUpdated = missing === "updated";
  const needsReload = isUpdated || missing === "unknown";
  useEffect(() => {
    // Nothing is lost by it, since the user is navigating anyway.
    if (needsReload) reloadOnce();
  }, [needsReload]);
  useServerBack(missing === "unreachable" || (error instanceof ApiError && isTemporary(error)), retry);
  return (
    <div className="flex h-full items-center justify-center">
      <ErrorState
        title={isUpdated ? "A new version is ready" : "This page couldn't be loaded"}
        error={error}
        {...(needsReload ? { action: <Button onClick={() => location.reload()}>Reload</Button> } : { retry })}
      />
    </div>
  );
}

export function NotFoundPage() {
  return (
    <main className="flex h-full items-center justify-center">
      <h1 className="sr-only">Tidings</h1>
      <EmptyState
        icon={<Compass aria-hidden />}
        title="Page not found"
        action={
          <Link to="/" className={buttonClass()}>
            Go to your events
          </Link>
        }
      >
        Check the address, or you may not have access.
      </EmptyState>
    </main>
  );
}

import { Link, Outlet, useRouter } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState } from "../components/ui/states.tsx";
import { Toasts } from "./toasts.tsx";

export function Root() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

export function PageError({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <main className="flex h-full items-center justify-center">
      <h1 className="sr-only">Tidings</h1>
      <ErrorState title="This page did not load" error={error} retry={() => void router.invalidate()} />
    </main>
  );
}

export function NotFoundPage() {
  return (
    <main className="flex h-full items-center justify-center">
      <h1 className="sr-only">Tidings</h1>
      <EmptyState
        icon={<Compass aria-hidden />}
        title="There is nothing here"
        action={
          <Link to="/" className={buttonClass()}>
            Go to your events
          </Link>
        }
      >
        The address is mistyped, or it belongs to a project that is not yours.
      </EmptyState>
    </main>
  );
}

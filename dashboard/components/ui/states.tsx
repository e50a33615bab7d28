import { clsx } from "clsx";
import { CircleAlert, CloudOff } from "lucide-react";
import type { ReactNode } from "react";
import { errorMessage } from "../../api.ts";
import { Button } from "./button.tsx";

/** A placeholder while loading. It fades in with a delay, so that quick responses don't flicker. */
export function Skeleton({ className }: { className?: string }) {
  return (
    <div
      aria-hidden
      data-skeleton
      className={clsx("animate-[fade_0.3s_ease-out_0.15s_backwards] rounded bg-pressed", className)}
    />
  );
}

type EmptyStateProps = {
  icon: ReactNode;
  title: string;
  /** Whether it is all that the page has, so that its title is the page's. */
  isPage?: boolean;
  children?: ReactNode;
  action?: ReactNode;
};

export function EmptyState({ icon, title, isPage = false, children, action }: EmptyStateProps) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <div className="mx-auto flex max-w-sm flex-col items-center gap-1 px-6 py-16 text-center">
      <div className="mb-3 flex size-11 items-center justify-center rounded-xl border border-line bg-raised text-faint [&>svg]:size-5">
        {icon}
      </div>
      <Heading className="font-semibold text-lg">{title}</Heading>
      {children && <div className="text-balance text-muted text-sm">{children}</div>}
      {action && <div className="mt-4">{action}</div>}
    </div>
  );
}

type ErrorStateProps = { title: string; error: unknown; retry?: () => void; action?: ReactNode };

export function ErrorState({ title, error, retry, action }: ErrorStateProps) {
  return (
    <div role="alert">
      <EmptyState
        icon={<CloudOff aria-hidden />}
        title={title}
        action={
          <div className="flex gap-2">
            {retry && <Button onClick={retry}>Retry</Button>}
            {action}
          </div>
        }
      >
        <span className="hostile">{errorMessage(error)}</span>
      </EmptyState>
    </div>
  );
}

export function Alert({ children }: { children: ReactNode }) {
  return (
    <div
      role="alert"
      className="flex items-start gap-2 rounded-md border border-danger/30 bg-danger-soft px-3 py-2 text-danger text-sm"
    >
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <p className="hostile">{children}</p>
    </div>
  );
}

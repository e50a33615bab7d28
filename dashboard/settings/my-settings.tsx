import { Link } from "@tanstack/react-router";
import { LogOut } from "lucide-react";
import type { ReactNode } from "react";
import { useSignOut } from "../account/sign-out.ts";
import { Button } from "../components/ui/button.tsx";
import { PageHeader } from "../shell/page-header.tsx";

const tabClass =
  "-mb-px flex h-10 items-center border-transparent border-b-2 px-1 font-medium text-muted text-sm hover:text-ink " +
  "data-active:border-accent data-active:text-ink max-md:h-11";

/** The frame of the pages with a person's own settings, in all projects. */
export function MySettings({ children }: { children: ReactNode }) {
  const signOut = useSignOut();
  const active = { activeOptions: { exact: true }, activeProps: { "data-active": true } };
  return (
    <>
      <PageHeader title="My settings">
        <Button onClick={() => void signOut()}>
          <LogOut aria-hidden className="size-4" />
          Sign out
        </Button>
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-2xl flex-col gap-9 px-4 py-4 md:px-8 md:py-5">
          <nav aria-label="My settings" className="flex gap-5 border-line border-b">
            <Link to="/account" className={tabClass} {...active}>
              Account
            </Link>
            <Link to="/account/notifications" className={tabClass} {...active}>
              Notifications
            </Link>
          </nav>
          {children}
        </div>
      </div>
    </>
  );
}

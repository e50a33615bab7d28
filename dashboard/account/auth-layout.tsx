import type { ReactNode } from "react";
import { Mark } from "../components/mark.tsx";

export const linkClass = "text-accent underline underline-offset-2 hover:no-underline";

type AuthLayoutProps = { title: string; lead?: ReactNode; wide?: boolean; children?: ReactNode };

/** The layout of pages for people without a session: sign-in, links from emails, first-run setup. */
export function AuthLayout({ title, lead, wide = false, children }: AuthLayoutProps) {
  return (
    <main className="flex min-h-full flex-col items-center px-5 py-12 md:py-[14vh]">
      <div className={`flex w-full flex-col gap-6 ${wide ? "max-w-xl" : "max-w-[360px]"}`}>
        <div className="flex items-center gap-2.5">
          <Mark className="h-6 w-8 text-accent" />
          <span className="font-semibold text-lg tracking-tight">Tidings</span>
        </div>
        <div>
          <h1 className="font-semibold text-2xl tracking-tight">{title}</h1>
          {lead && <div className="mt-2 text-pretty text-muted">{lead}</div>}
        </div>
        {children}
      </div>
    </main>
  );
}

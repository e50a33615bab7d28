import { Link, type LinkProps } from "@tanstack/react-router";
import { clsx } from "clsx";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { Panel } from "./group.tsx";

/** Links to the project's other pages. Connections have their own part of the navigation. */
export function ProjectPages() {
  const can = useCan();
  return (
    <Panel>
      {/* On phones, the bottom bar has no room for these pages, which the sidebar has. */}
      <PageLink
        to="/p/$project/members"
        title="Members"
        hint="Who sees the project, and their roles"
        onPhones
      />
      <PageLink to="/p/$project/rules" title="Rules" hint="Which events notify whom, and when" onPhones />
      {can("audit:read") && (
        <PageLink to="/p/$project/audit" title="Audit log" hint="Who changed the project, and when" />
      )}
      {can("events:send") && (
        <Row hint="From a file, including exports of other products">
          <button type="button" className={targetClass} onClick={() => openOverlay("import")}>
            Import events…
          </button>
        </Row>
      )}
    </Panel>
  );
}

type PageLinkProps = { to: LinkProps["to"]; title: string; hint: string; onPhones?: boolean };

function PageLink({ to, title, hint, onPhones = false }: PageLinkProps) {
  const project = useProjectSlug();
  return (
    <Row hint={hint} {...(onPhones && { className: "md:hidden" })}>
      <Link to={to!} params={{ project }} search={{}} className={targetClass}>
        {title}
      </Link>
    </Row>
  );
}

/** The whole row is clickable, but only its title names it. */
const targetClass =
  "font-medium text-sm after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 " +
  "focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent";

function Row({ hint, className, children }: { hint: string; className?: string; children: ReactNode }) {
  return (
    <div className={clsx("relative flex min-h-14 items-center gap-4 px-4 py-2 hover:bg-hover", className)}>
      <div className="min-w-0 flex-1">
        {children}
        <p className="text-muted text-xs">{hint}</p>
      </div>
      <ChevronRight aria-hidden className="size-4 shrink-0 text-faint" />
    </div>
  );
}

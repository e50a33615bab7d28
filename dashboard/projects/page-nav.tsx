import { Link } from "@tanstack/react-router";
import { Gauge, type LucideIcon, Mail, Users } from "lucide-react";
import { AlertNav } from "../alerts/alert-nav.tsx";
import { navItemClass } from "../components/ui/button.tsx";
import { ConnectionNav } from "../connections/connection-nav.tsx";
import { useProjectSlug } from "./current-project.ts";

type LinkedPage = "insights" | "members" | "reports";

/** The project's pages that the bar of phones has no room for. */
export function PageNav({ onNavigate }: { onNavigate: () => void }) {
  const project = useProjectSlug();
  const page = (name: LinkedPage, label: string, Icon: LucideIcon) => (
    <Link
      to={`/p/$project/${name}`}
      params={{ project }}
      search={{}}
      className={navItemClass}
      activeProps={{ "data-active": true }}
      onClick={onNavigate}
    >
      <Icon aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
      <span className="flex-1">{label}</span>
    </Link>
  );
  return (
    <nav aria-label="Project" className="flex flex-col gap-px border-line border-t p-2">
      {page("insights", "Insights", Gauge)}
      {page("members", "Members", Users)}
      {page("reports", "Reports", Mail)}
      <AlertNav onNavigate={onNavigate} />
      <ConnectionNav onNavigate={onNavigate} />
    </nav>
  );
}

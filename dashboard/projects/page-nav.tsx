import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  Bell,
  CircleSlash,
  Gauge,
  type LucideIcon,
  PackageCheck,
  Send,
  UserRound,
  Users,
} from "lucide-react";
import { formatNumber } from "../components/locale.ts";
import { navItemClass } from "../components/ui/button.tsx";
import { deadCountQuery } from "../deliveries/deliveries.ts";
import { useRejectedCount } from "../rejected/rejected-count.ts";
import { useProjectSlug } from "./current-project.ts";

type Page = "users" | "values" | "members" | "rules" | "destinations" | "deliveries" | "rejected";

/** The project's pages that the bar of phones has no room for. */
export function PageNav({ onNavigate }: { onNavigate: () => void }) {
  const project = useProjectSlug();
  const { data: dead = 0 } = useQuery(deadCountQuery(project));
  const rejected = useRejectedCount(project);
  const page = (name: Page, label: string, Icon: LucideIcon, count = 0) => (
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
      {count > 0 && <span className="text-danger text-xs">{formatNumber(count)}</span>}
    </Link>
  );
  return (
    <nav aria-label="Project" className="flex flex-col gap-px border-line border-t p-2">
      {page("users", "Users", UserRound)}
      {page("values", "Values", Gauge)}
      {page("rejected", "Rejected events", CircleSlash, rejected)}
      {page("deliveries", "Deliveries", PackageCheck, dead)}
      {page("destinations", "Destinations", Send)}
      {page("rules", "Rules", Bell)}
      {page("members", "Members", Users)}
    </nav>
  );
}

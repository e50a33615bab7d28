import { useQuery } from "@tanstack/react-query";
import { useMatches } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import type { Sidebar } from "../../server/schemas/view.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { NavGroup } from "../shell/nav-group.tsx";

const pages = [
  { name: "rules", title: "Rules" },
  { name: "heartbeats", title: "Heartbeats" },
  { name: "on-call", title: "On call" },
  { name: "silences", title: "Silences" },
] as const;

const openAlertsIn = (sidebar: Sidebar) => sidebar.openAlerts;

/** Alerts, and what opens and calms them: a part of the navigation, with how many are open. */
export function AlertNav({ canFold = false, onNavigate }: { canFold?: boolean; onNavigate?: () => void }) {
  const { data: open = 0 } = useQuery({ ...sidebarQuery(useProjectSlug()), select: openAlertsIn });
  return (
    <NavGroup
      name="alerts"
      title="Alerts"
      icon={BellRing}
      open={useAlertPage()}
      pages={pages}
      urgent={open}
      urgentText="open"
      isUrgentAlways
      canFold={canFold}
      lowPx={840}
      onNavigate={onNavigate}
    />
  );
}

/** The page of alerts that is open. */
function useAlertPage(): (typeof pages)[number]["name"] | "alerts" | null {
  return useMatches({
    select: (matches) => {
      const name = /\/\$project\/([\w-]+)/.exec(matches.at(-1)?.routeId ?? "")?.[1];
      return name === "alerts" ? name : (pages.find((each) => each.name === name)?.name ?? null);
    },
  });
}

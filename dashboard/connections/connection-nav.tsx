import { useMatches } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Cable } from "lucide-react";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { NavGroup } from "../shell/nav-group.tsx";
import {
  type ConnectionPage,
  type ConnectionState,
  connectionPages,
  connectionTitles,
  useConnectionStates,
} from "./connections.ts";

type Props = {
  /** In the sidebar, where it can be folded and is an icon on tablets; not on phones. */
  canFold?: boolean;
  onNavigate?: () => void;
};

/** API keys, webhooks, destinations and what goes through them: a part of the navigation, with their states. */
export function ConnectionNav({ canFold = false, onNavigate }: Props) {
  const can = useCan();
  const states = useConnectionStates(useProjectSlug());
  const urgent = Object.values(states).filter((state) => state.isUrgent).length;
  return (
    <NavGroup
      name="connections"
      title="Connections"
      icon={Cable}
      open={useConnectionPage()}
      pages={connectionPages
        .filter((page) => page !== "keys" || can("keys:manage"))
        .map((name) => ({
          name,
          title: connectionTitles[name],
          state: states[name] && <State state={states[name]} />,
        }))}
      urgent={urgent}
      urgentText={urgent === 1 ? "needs attention" : "need attention"}
      canFold={canFold}
      lowPx={936}
      onNavigate={onNavigate}
    />
  );
}

/** The page of connections that is open. */
export function useConnectionPage(): ConnectionPage | "connections" | null {
  return useMatches({
    select: (matches) => {
      const name = /\/\$project\/(\w+)$/.exec(matches.at(-1)?.routeId ?? "")?.[1];
      return name === "connections" ? name : (connectionPages.find((each) => each === name) ?? null);
    },
  });
}

export function State({ state: { text, isUrgent } }: { state: ConnectionState }) {
  return <span className={clsx("text-xs", isUrgent ? "text-danger" : "text-warn")}>{text}</span>;
}

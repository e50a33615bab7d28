import { Link, useMatches } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Cable, ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import { IconButton, navItemClass } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { labelClass, RailIcon, railItemClass } from "../shell/rail.tsx";
import { loadChoice, saveChoice } from "../storage.ts";
import {
  type ConnectionPage,
  type ConnectionState,
  connectionPages,
  connectionTitles,
  useConnectionStates,
} from "./connections.ts";

const choice = "connections";
/** Below that, unfolded connections leave room for fewer than five channels. */
const lowPx = 888;

type Props = {
  /** In the sidebar, where it can be folded and is an icon on tablets; not on phones. */
  canFold?: boolean;
  onNavigate?: () => void;
};

/** API keys, webhooks, destinations and what goes through them: a part of the navigation, with their states. */
export function ConnectionNav({ canFold = false, onNavigate }: Props) {
  const id = useId();
  const project = useProjectSlug();
  const can = useCan();
  const states = useConnectionStates(project);
  const [isFolded, setFolded] = useState(() => canFold && isFoldedAtFirst());
  const page = useConnectionPage();
  const pages = connectionPages.filter((each) => each !== "keys" || can("keys:manage"));
  const urgent = Object.values(states).filter((state) => state.isUrgent).length;
  const fold = () => {
    saveChoice(choice, isFolded ? "unfolded" : "folded");
    setFolded(!isFolded);
  };
  return (
    <div className="flex flex-col gap-px">
      <div className="relative flex flex-col">
        <Link
          to="/p/$project/connections"
          params={{ project }}
          className={clsx(navItemClass, canFold && `lg:pr-8 ${railItemClass}`)}
          data-active={page === "connections" || (isFolded && page !== null) || undefined}
          onClick={onNavigate}
        >
          {canFold ? (
            <RailIcon icon={Cable} dot={urgent > 0 && "bg-danger"} />
          ) : (
            <Cable aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
          )}
          <span className={canFold ? labelClass : "flex-1"}>Connections</span>
          {canFold && urgent > 0 && <Urgent count={urgent} isFolded={isFolded} />}
        </Link>
        {canFold && (
          <IconButton
            label="Show connections"
            aria-expanded={!isFolded}
            aria-controls={id}
            onClick={fold}
            className="absolute inset-y-0 right-0 w-7 max-lg:hidden"
          >
            <ChevronRight
              aria-hidden
              className={clsx("size-3.5 transition-transform", !isFolded && "rotate-90")}
            />
          </IconButton>
        )}
      </div>
      <ul
        id={id}
        hidden={isFolded}
        className={clsx("flex flex-col gap-px [&[hidden]]:hidden", canFold && "max-lg:hidden")}
      >
        {pages.map((each) => (
          <li key={each}>
            <Link
              to={`/p/$project/${each}`}
              params={{ project }}
              search={{}}
              className={clsx(navItemClass, "md:h-7 md:[@media(max-height:960px)]:h-6 pl-9.5")}
              data-active={page === each || undefined}
              onClick={onNavigate}
            >
              <span className="flex-1">{connectionTitles[each]}</span>
              {states[each] && <State state={states[each]} />}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Low windows have room for the channels only. */
function isFoldedAtFirst(): boolean {
  const chosen = loadChoice(choice);
  return chosen === null ? innerHeight < lowPx : chosen === "folded";
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

/** How many pages have something urgent, while their states are hidden: on the rail they always are. */
function Urgent({ count, isFolded }: { count: number; isFolded: boolean }) {
  return (
    <span className={clsx("text-danger text-xs", isFolded ? "md:max-lg:sr-only" : "sr-only lg:hidden")}>
      {count}
      <span className="sr-only">{count === 1 ? " needs attention" : " need attention"}</span>
    </span>
  );
}

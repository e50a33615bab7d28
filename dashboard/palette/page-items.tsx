import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Bell,
  Cable,
  Gauge,
  LayoutDashboard,
  ListChecks,
  Newspaper,
  ScrollText,
  Settings2,
  UserRound,
  Users,
} from "lucide-react";
import { boardsQuery } from "../boards/boards.ts";
import { connectionIcons } from "../connections/connection-icons.ts";
import { connectionPages, connectionTitles, useConnectionStates } from "../connections/connections.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PaletteItem } from "./palette-item.tsx";

/** The pages of the current project that the person may see. */
export function PageItems({ closeAnd }: { closeAnd: (action: () => unknown) => () => void }) {
  const project = useProjectSlug();
  const { data: boards = [] } = useQuery(boardsQuery(project));
  const states = useConnectionStates(project);
  const can = useCan();
  const navigate = useNavigate();
  const params = { project };

  return (
    <>
      <PaletteItem
        icon={<Newspaper aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project", params, search: {} }))}
      >
        All events
      </PaletteItem>
      {boards.map(({ id, name }) => (
        <PaletteItem
          key={id}
          value={`board ${id} ${name}`}
          icon={<LayoutDashboard aria-hidden />}
          onSelect={closeAnd(() =>
            navigate({ to: "/p/$project/boards/$board", params: { project, board: id } }),
          )}
        >
          Board {name}
        </PaletteItem>
      ))}
      <PaletteItem icon={<Bell aria-hidden />} onSelect={closeAnd(() => navigate({ to: "/notifications" }))}>
        Notifications
      </PaletteItem>
      <PaletteItem
        icon={<UserRound aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/users", params, search: {} }))}
      >
        Users
      </PaletteItem>
      <PaletteItem
        icon={<Gauge aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/values", params }))}
      >
        Values
      </PaletteItem>
      <PaletteItem
        icon={<Users aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/members", params }))}
      >
        Members
      </PaletteItem>
      <PaletteItem
        icon={<ListChecks aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/rules", params }))}
      >
        Rules
      </PaletteItem>
      <PaletteItem
        icon={<Cable aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/connections", params }))}
      >
        Connections
      </PaletteItem>
      {connectionPages
        .filter((page) => page !== "keys" || can("keys:manage"))
        .map((page) => {
          const Icon = connectionIcons[page];
          return (
            <PaletteItem
              key={page}
              value={connectionTitles[page]}
              icon={<Icon aria-hidden />}
              onSelect={closeAnd(() => navigate({ to: `/p/$project/${page}`, params, search: {} }))}
            >
              {connectionTitles[page]}
              {states[page] && ` (${states[page].text})`}
            </PaletteItem>
          );
        })}
      {can("audit:read") && (
        <PaletteItem
          icon={<ScrollText aria-hidden />}
          onSelect={closeAnd(() => navigate({ to: "/p/$project/audit", params }))}
        >
          Audit log
        </PaletteItem>
      )}
      <PaletteItem
        icon={<Settings2 aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/settings", params }))}
      >
        Project settings
      </PaletteItem>
      <PaletteItem icon={<UserRound aria-hidden />} onSelect={closeAnd(() => navigate({ to: "/account" }))}>
        My settings
      </PaletteItem>
      <PaletteItem
        icon={<Bell aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/account/notifications" }))}
      >
        Notification settings
      </PaletteItem>
    </>
  );
}

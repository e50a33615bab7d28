import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Bell,
  CircleSlash,
  Gauge,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  Newspaper,
  PackageCheck,
  ScrollText,
  Send,
  Settings2,
  UserRound,
  Users,
  Webhook,
} from "lucide-react";
import { boardsQuery } from "../boards/boards.ts";
import { deadCountQuery } from "../deliveries/deliveries.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { useRejectedCount } from "../rejected/rejected-count.ts";
import { PaletteItem } from "./palette-item.tsx";

/** The pages of the current project that the person may see. */
export function PageItems({ closeAnd }: { closeAnd: (action: () => unknown) => () => void }) {
  const project = useProjectSlug();
  const { data: boards = [] } = useQuery(boardsQuery(project));
  const { data: dead = 0 } = useQuery(deadCountQuery(project));
  const rejected = useRejectedCount(project);
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
      {can("keys:manage") && (
        <PaletteItem
          icon={<KeyRound aria-hidden />}
          onSelect={closeAnd(() => navigate({ to: "/p/$project/keys", params }))}
        >
          API keys
        </PaletteItem>
      )}
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
        icon={<Send aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/destinations", params }))}
      >
        Destinations
      </PaletteItem>
      <PaletteItem
        value="Deliveries"
        icon={<PackageCheck aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/deliveries", params, search: {} }))}
      >
        {dead > 0 ? `Deliveries (${dead.toLocaleString("en")} failed)` : "Deliveries"}
      </PaletteItem>
      <PaletteItem
        icon={<Webhook aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/webhooks", params }))}
      >
        Webhooks
      </PaletteItem>
      <PaletteItem
        value="Rejected events"
        icon={<CircleSlash aria-hidden />}
        onSelect={closeAnd(() => navigate({ to: "/p/$project/rejected", params }))}
      >
        {rejected > 0 ? `Rejected events (${rejected.toLocaleString("en")})` : "Rejected events"}
      </PaletteItem>
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
        Settings
      </PaletteItem>
    </>
  );
}

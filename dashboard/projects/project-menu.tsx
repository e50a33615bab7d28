import { useNavigate } from "@tanstack/react-router";
import { Check, Plus } from "lucide-react";
import { useMe } from "../account/me.ts";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { openOverlay } from "../shell/overlays.tsx";
import { useProjectSlug } from "./current-project.ts";
import { ProjectSearch } from "./project-search.tsx";

/** With this many projects, the menu has a search field. */
const searchFrom = 6;

export default function ProjectMenu(props: MenuContentProps) {
  const { projects } = useMe();
  const current = useProjectSlug();
  const navigate = useNavigate();
  if (projects.length >= searchFrom) return <ProjectSearch {...props} />;
  return (
    <Menu {...props}>
      <MenuLabel>Projects</MenuLabel>
      {projects.map(({ slug, name }) => (
        <MenuItem
          key={slug}
          onSelect={() => void navigate({ to: "/p/$project", params: { project: slug }, search: {} })}
        >
          <span className="hostile-line flex-1">{name}</span>
          {slug === current && <Check aria-label="Open now" />}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem onSelect={() => openOverlay("new-project")}>
        <Plus aria-hidden />
        New project
      </MenuItem>
    </Menu>
  );
}

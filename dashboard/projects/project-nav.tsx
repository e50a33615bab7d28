import { Link } from "@tanstack/react-router";
import { Folder, Plus } from "lucide-react";
import { useMe } from "../account/me.ts";
import { navItemClass } from "../components/ui/button.tsx";
import { openOverlay } from "../shell/overlays.tsx";
import { useProjectSlug } from "./current-project.ts";

/** All projects as a list, for screens without room for the menu. */
export function ProjectNav({ onNavigate }: { onNavigate: () => void }) {
  const { projects } = useMe();
  const current = useProjectSlug();
  return (
    <nav aria-label="Projects" className="flex flex-col gap-px border-line border-t p-2">
      <h2 className="px-2 py-1 font-medium text-faint text-xs">Projects</h2>
      {projects.map(({ slug, name }) => (
        <Link
          key={slug}
          to="/p/$project"
          params={{ project: slug }}
          search={{}}
          className={navItemClass}
          data-active={slug === current || undefined}
          onClick={onNavigate}
        >
          <Folder aria-hidden className="size-4 shrink-0 text-faint" />
          <span className="hostile-line">{name}</span>
        </Link>
      ))}
      <button type="button" className={navItemClass} onClick={() => openOverlay("new-project")}>
        <Plus aria-hidden className="size-4 text-faint" />
        New project
      </button>
    </nav>
  );
}

import { ChevronsUpDown } from "lucide-react";
import { useMe } from "../account/me.ts";
import { Mark } from "../components/mark.tsx";
import { useProjectSlug } from "./current-project.ts";

export function ProjectName() {
  const slug = useProjectSlug();
  const { projects } = useMe();
  return (
    <>
      <Mark className="h-5 w-6.5 shrink-0 text-accent" />
      <span className="hostile-line flex-1 font-semibold text-base">
        {projects.find((each) => each.slug === slug)?.name ?? "Tidings"}
      </span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-faint" />
    </>
  );
}

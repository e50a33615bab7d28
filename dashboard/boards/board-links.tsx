import { Link } from "@tanstack/react-router";
import { buttonClass } from "../components/ui/button.tsx";

const pages = [
  ["reports", "Reports"],
  ["annotations", "Annotations"],
  ["insights", "Insights"],
] as const;

/** Leads from boards to the pages about what they show and where they are sent. */
export function BoardLinks({ project }: { project: string }) {
  return pages.map(([page, label]) => (
    <Link
      key={page}
      to={`/p/$project/${page}`}
      params={{ project }}
      className={buttonClass({ variant: "ghost" }, "max-md:hidden")}
    >
      {label}
    </Link>
  ));
}

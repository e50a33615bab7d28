import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import { countOf } from "../components/counts.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { alertsQuery } from "./alerts.ts";

type Props = { project: string; open: number };

/** The newest open alert, and how many there are: a line above the feed. */
export function OpenAlertsNote({ project, open }: Props) {
  const { data } = useInfiniteQuery(alertsQuery(project, "open"));
  const newest = data?.pages[0]?.alerts[0];
  return (
    <Link
      to="/p/$project/alerts"
      params={{ project }}
      search={open === 1 && newest ? { alert: newest.id } : {}}
      className="group flex items-center gap-2 border-line border-b bg-danger-soft px-4 py-1.5 text-danger text-sm focus-visible:outline-offset-[-2px]"
    >
      <BellRing aria-hidden className="size-4 shrink-0" />
      <span className="shrink-0 font-medium hover:underline">{countOf(open, "open alert")}</span>
      {newest && (
        <>
          <span className="hostile-line flex-1">{newest.title}</span>
          <RelativeTime at={newest.openedAt} className="shrink-0 text-xs" />
        </>
      )}
    </Link>
  );
}

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";

/** Names listed before "more". */
const namesShown = 8;

type Props = {
  project: string;
  names: readonly { name: string; events: number }[];
  /** The filters of the feed that show these events. */
  filters: Record<string, string>;
};

/** The names of what a user or a group does, most frequent first. */
export function Names({ project, names, filters }: Props) {
  const [isWhole, setWhole] = useState(false);
  if (names.length === 0) return null;
  const most = names[0]!.events;
  return (
    <section aria-label="Events by name">
      <h2 className="mb-2 font-semibold text-sm">What they do</h2>
      <ul className="flex flex-col gap-0.5">
        {(isWhole ? names : names.slice(0, namesShown)).map(({ name, events }) => (
          <li key={name} className="relative">
            <span
              aria-hidden
              className="absolute inset-y-0 left-0 rounded bg-accent-soft"
              style={{ width: `${(events / most) * 100}%` }}
            />
            <Link
              to="/p/$project"
              params={{ project }}
              search={{ ...filters, name }}
              className="relative flex min-h-7 items-center gap-2 px-2 text-sm hover:underline max-md:min-h-10"
            >
              <span className="hostile-line flex-1">{name}</span>
              <span className="shrink-0 text-muted">{formatNumber(events)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {names.length > namesShown && !isWhole && (
        <Button variant="ghost" className="mt-1 -ml-1" onClick={() => setWhole(true)}>
          {countOf(names.length - namesShown, "more name", "more names")}
        </Button>
      )}
    </section>
  );
}

import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { ChevronRight, type LucideIcon } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { IconButton, navItemClass } from "../components/ui/button.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { loadChoice, saveChoice } from "../storage.ts";
import { labelClass, RailIcon, railItemClass } from "./rail.tsx";

type NavGroupProps<Name extends string, Page extends string> = {
  /** Of its own page; it also says under which name the browser keeps whether it is folded. */
  name: Name;
  title: string;
  icon: LucideIcon;
  /** The page that is open, if it belongs to the group. */
  open: Name | Page | null;
  pages: readonly { name: Page; title: string; state?: ReactNode }[];
  /** How many of its things need attention, and the words for that. They are shown while the pages are hidden. */
  urgent: number;
  urgentText: string;
  /** Whether it is shown while the pages are visible too. */
  isUrgentAlways?: boolean;
  /** In the sidebar, where it can be folded and is an icon on tablets; not on phones. */
  canFold: boolean;
  /**
   * In lower windows it is folded until one of its pages is opened, because unfolded it leaves room for fewer than five
   * channels.
   */
  lowPx: number;
  onNavigate?: (() => void) | undefined;
};

/** A page of the navigation with pages that belong to it, which can be folded. */
export function NavGroup<Name extends string, Page extends string>(props: NavGroupProps<Name, Page>) {
  const { name, title, icon: Icon, open, pages, urgent, urgentText, isUrgentAlways = false } = props;
  const { canFold, lowPx, onNavigate } = props;
  const id = useId();
  const project = useProjectSlug();
  const [isFolded, setFolded] = useState(
    () => canFold && isFoldedAtFirst(name, open === null && innerHeight < lowPx),
  );
  const fold = () => {
    saveChoice(name, isFolded ? "unfolded" : "folded");
    setFolded(!isFolded);
  };
  return (
    <div className="flex flex-col gap-px">
      <div className="relative flex flex-col">
        <Link
          to={`/p/$project/${name}` as string}
          params={{ project }}
          search={{}}
          className={clsx(navItemClass, canFold && `lg:pr-8 ${railItemClass}`)}
          data-active={open === name || (isFolded && open !== null) || undefined}
          onClick={onNavigate}
          {...(canFold && { title })}
        >
          {canFold ? (
            <RailIcon icon={Icon} dot={urgent > 0 && "bg-danger"} />
          ) : (
            <Icon aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
          )}
          <span className={canFold ? labelClass : "flex-1"}>{title}</span>
          {urgent > 0 && (canFold || isUrgentAlways) && (
            <span
              className={clsx(
                "text-danger text-xs",
                canFold && (isFolded || isUrgentAlways ? "md:max-lg:sr-only" : "sr-only lg:hidden"),
              )}
            >
              {urgent}
              <span className="sr-only"> {urgentText}</span>
            </span>
          )}
        </Link>
        {canFold && (
          <IconButton
            label={`Show ${title.toLowerCase()}`}
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
        {pages.map(({ name, title, state }) => (
          <li key={name}>
            <Link
              to={`/p/$project/${name}` as string}
              params={{ project }}
              search={{}}
              className={clsx(navItemClass, "md:h-7 md:[@media(max-height:960px)]:h-6 pl-9.5")}
              data-active={open === name || undefined}
              onClick={onNavigate}
            >
              <span className="flex-1">{title}</span>
              {state}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function isFoldedAtFirst(name: string, byDefault: boolean): boolean {
  const chosen = loadChoice(name);
  return chosen === null ? byDefault : chosen === "folded";
}

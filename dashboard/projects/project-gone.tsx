import { Link } from "@tanstack/react-router";
import { DoorClosed } from "lucide-react";
import { buttonClass } from "../components/ui/button.tsx";
import { EmptyState } from "../components/ui/states.tsx";
import { PageHeader } from "../shell/page-header.tsx";

/** Instead of the pages of a project that the account was removed from, or that was deleted. */
export function ProjectGone() {
  return (
    <>
      <PageHeader title="Project" />
      <EmptyState
        icon={<DoorClosed aria-hidden />}
        title="You're no longer in this project"
        action={
          <Link to="/" className={buttonClass()}>
            Go to your events
          </Link>
        }
      >
        You were removed, or the project was deleted.
      </EmptyState>
    </>
  );
}

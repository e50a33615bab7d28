import { FolderPlus } from "lucide-react";
import { Button } from "../components/ui/button.tsx";
import { EmptyState } from "../components/ui/states.tsx";
import { openOverlay } from "../shell/overlays.tsx";

/** The home page of an account without projects, for example after it deleted its last one. */
export function NoProjectPage() {
  return (
    <EmptyState
      icon={<FolderPlus aria-hidden />}
      title="You're not in any project"
      action={
        <Button variant="solid" onClick={() => openOverlay("new-project")}>
          New project
        </Button>
      }
    >
      Events belong to a project. Create one, or ask to be added to an existing one.
    </EmptyState>
  );
}

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Gauge } from "lucide-react";
import { useState } from "react";
import type { InsightInList } from "../../server/schemas/insight.ts";
import { api } from "../api.ts";
import { insightsQuery } from "../boards/boards.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { ListPage } from "../shell/list-page.tsx";
import { ValueTable } from "./value-table.tsx";

const pollMs = 10_000;

/** A command that sets a value. */
function curlOf(key: string): string {
  const path = `${location.origin}/api/insights/${key}`;
  const body = JSON.stringify({ title: "Paying customers", value: 1204, icon: "💳" });
  return [
    `curl -X PUT ${path}`,
    '-H "x-api-key: $TIDINGS_API_KEY"',
    '-H "content-type: application/json"',
    `-d '${body}'`,
  ].join(" \\\n  ");
}

/** The values that applications set, for boards. */
export function ValuesPage() {
  const project = useProjectSlug();
  const query = useQuery({ ...insightsQuery(project), refetchInterval: pollMs });
  const [deleted, setDeleted] = useState<InsightInList | null>(null);
  return (
    <>
      <ListPage
        title="Values"
        intro="Numbers that your application sets, such as paying customers or the length of a queue. Board tiles show them with their history."
        query={query}
        empty={{
          icon: <Gauge aria-hidden />,
          title: "No values yet",
          text: (
            <>
              Set the first one with the command below;{" "}
              <code className="font-mono text-xs">$TIDINGS_API_KEY</code> is an API key that can send events.
            </>
          ),
        }}
        links={
          <Link to="/p/$project/boards" params={{ project }} className={buttonClass()}>
            View boards
          </Link>
        }
        list={(values) => <ValueTable project={project} values={values} remove={setDeleted} />}
      >
        <CodeBlock label="Set a value" code={curlOf("paying-customers")} />
        <p className="text-muted text-sm">
          <code className="font-mono text-xs">PATCH</code> with{" "}
          <code className="font-mono text-xs">{'{"add": 1}'}</code> adds to it. Title and icon stay when they
          are left out.
        </p>
      </ListPage>
      {deleted && <DeleteValueDialog project={project} value={deleted} close={() => setDeleted(null)} />}
    </>
  );
}

type DeleteProps = { project: string; value: InsightInList; close: () => void };

function DeleteValueDialog({ project, value: { key, title }, close }: DeleteProps) {
  const remove = useMutation({
    mutationFn: () => api(`/api/insights/${key}`, { method: "DELETE", query: { project } }),
    async onSuccess() {
      await refresh(insightsQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title={`Delete "${title}"?`} action="Delete" mutation={remove} close={close}>
      The value and its history are deleted. Tiles that show it read “Not set yet” until it is set again.
    </ConfirmDialog>
  );
}

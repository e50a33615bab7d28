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
import { InsightTable } from "./insight-table.tsx";

const pollMs = 10_000;

/** A command that sets an insight. */
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

/** The numbers that applications set, for boards. */
export function InsightsPage() {
  const project = useProjectSlug();
  const query = useQuery({ ...insightsQuery(project), refetchInterval: pollMs });
  const [deleted, setDeleted] = useState<InsightInList | null>(null);
  return (
    <>
      <ListPage
        title="Insights"
        intro="Numbers that your application sets, such as paying customers or the length of a queue. Board tiles show them with their history."
        query={query}
        empty={{
          icon: <Gauge aria-hidden />,
          title: "No insights yet",
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
        list={(insights) => <InsightTable project={project} insights={insights} remove={setDeleted} />}
      >
        <CodeBlock label="Set an insight" code={curlOf("paying-customers")} />
        <p className="text-muted text-sm">
          <code className="font-mono text-xs">PATCH</code> with{" "}
          <code className="font-mono text-xs">{'{"add": 1}'}</code> adds to it. Title and icon stay when they
          are left out.
        </p>
      </ListPage>
      {deleted && <DeleteInsightDialog project={project} insight={deleted} close={() => setDeleted(null)} />}
    </>
  );
}

type DeleteProps = { project: string; insight: InsightInList; close: () => void };

function DeleteInsightDialog({ project, insight: { key, title }, close }: DeleteProps) {
  const remove = useMutation({
    mutationFn: () => api(`/api/insights/${key}`, { method: "DELETE", query: { project } }),
    async onSuccess() {
      await refresh(insightsQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title={`Delete "${title}"?`} action="Delete" mutation={remove} close={close}>
      The insight and its history are deleted. Tiles that show it read “Not set yet” until it is set again.
    </ConfirmDialog>
  );
}

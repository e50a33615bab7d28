import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bell, Plus } from "lucide-react";
import { useState } from "react";
import type { Rule } from "../../server/wire/rule.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { DeleteRuleDialog, EditRuleDialog, NewRuleDialog } from "./rule-dialogs.tsx";
import { RuleList } from "./rule-list.tsx";
import { rulesQuery } from "./rules.ts";

/** Dialogs for a rule. */
const dialogs = { edit: EditRuleDialog, delete: DeleteRuleDialog };

export function RulesPage() {
  const project = useProjectSlug();
  const { data: rules, error, refetch } = useQuery(rulesQuery(project));
  const can = useCan();
  const [creating, setCreating] = useState(false);
  const [opened, setOpened] = useState<{ dialog: keyof typeof dialogs; rule: Rule } | null>(null);
  const open = (dialog: keyof typeof dialogs) => (rule: Rule) => setOpened({ dialog, rule });
  const Opened = opened && dialogs[opened.dialog];
  const newRule = can("rules:manage") && (
    <Button variant="solid" onClick={() => setCreating(true)}>
      <Plus aria-hidden className="size-4" />
      New rule
    </Button>
  );
  return (
    <>
      <PageHeader title="Rules" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-4xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-lg text-muted text-sm">
              Rules say which events notify whom, and when. They notify members, and services that are
              destinations of this project.
            </p>
            <div className="flex flex-wrap gap-2">
              <Link to="/p/$project/destinations" params={{ project }} className={buttonClass()}>
                Destinations
              </Link>
              {rules && rules.length > 0 && newRule}
            </div>
          </div>
          {error && !rules ? (
            <ErrorState title="Rules couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !rules ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : rules.length === 0 ? (
            <EmptyState icon={<Bell aria-hidden />} title="No rules, no notifications" action={newRule}>
              A rule notifies of each event that matches a search, of many in one summary, or when an expected
              event is missing.
            </EmptyState>
          ) : (
            <RuleList rules={rules} edit={open("edit")} remove={open("delete")} />
          )}
        </div>
      </div>
      {creating && <NewRuleDialog close={() => setCreating(false)} />}
      {Opened && <Opened rule={opened.rule} close={() => setOpened(null)} />}
    </>
  );
}

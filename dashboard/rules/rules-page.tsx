import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bell } from "lucide-react";
import type { Rule } from "../../server/schemas/rule.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { DeleteRuleDialog, EditRuleDialog, NewRuleDialog } from "./rule-dialogs.tsx";
import { RuleList } from "./rule-list.tsx";
import { RuleValuesDialog } from "./rule-values-dialog.tsx";
import { rulesQuery } from "./rules.ts";

export function RulesPage() {
  const project = useProjectSlug();
  const query = useQuery(rulesQuery(project));
  const canManage = useCan()("rules:manage");
  const { create, open, notes, dialog } = useListDialogs<Rule, "delete" | "values">({
    kind: "rule",
    noun: "rule",
    nameOf: ({ name }) => name,
    canEdit: canManage,
    Create: NewRuleDialog,
    dialogs: {
      edit: (rule, close) => <EditRuleDialog rule={rule} close={close} />,
      delete: (rule, close) => <DeleteRuleDialog rule={rule} close={close} />,
      values: (rule, close) => <RuleValuesDialog rule={rule} close={close} />,
    },
  });
  return (
    <>
      <ListPage
        title="Rules"
        intro="Rules say which events notify whom, and when. They notify members, and services that are destinations of this project."
        query={query}
        empty={{
          icon: <Bell aria-hidden />,
          title: "No rules, no notifications",
          text: "A rule alerts on each event that matches a search, on many in one summary, or when an expected event is missing.",
        }}
        create={canManage && { label: "New rule", open: create }}
        links={
          <>
            <Link to="/p/$project/alerts" params={{ project }} className={buttonClass()}>
              Alerts
            </Link>
            <Link to="/p/$project/destinations" params={{ project }} className={buttonClass()}>
              Destinations
            </Link>
          </>
        }
        notes={notes}
        list={(rules) => (
          <RuleList rules={rules} edit={open("edit")} remove={open("delete")} showValues={open("values")} />
        )}
      />
      {dialog}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bell } from "lucide-react";
import { useState } from "react";
import type { Rule } from "../../server/schemas/rule.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { DraftNote, useDrafts } from "../edits/draft-note.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { DeleteRuleDialog, EditRuleDialog, NewRuleDialog } from "./rule-dialogs.tsx";
import type { RuleForm } from "./rule-form.ts";
import { RuleList } from "./rule-list.tsx";
import { RuleValuesDialog } from "./rule-values-dialog.tsx";
import { rulesQuery } from "./rules.ts";

/** Dialogs for a rule. */
const dialogs = { edit: EditRuleDialog, delete: DeleteRuleDialog, values: RuleValuesDialog };

export function RulesPage() {
  const project = useProjectSlug();
  const query = useQuery(rulesQuery(project));
  const canManage = useCan()("rules:manage");
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Rule, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  const { drafts, update, discard } = useDrafts<Rule, RuleForm>("rule");
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
        create={canManage && { label: "New rule", open: () => setCreating(true) }}
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
        notes={
          canManage &&
          !opened &&
          !creating &&
          drafts.map(({ key, base, form, ...draft }) => (
            <DraftNote
              key={key}
              of={base ? `the rule ${base.name}` : "a new rule"}
              draft={draft}
              resume={() => (base ? open("edit")(base) : setCreating(true))}
              discard={() => discard(key)}
            />
          ))
        }
        list={(rules) => (
          <RuleList rules={rules} edit={open("edit")} remove={open("delete")} showValues={open("values")} />
        )}
      />
      {creating && (
        <NewRuleDialog
          close={() => {
            setCreating(false);
            update();
          }}
        />
      )}
      {Opened && (
        <Opened
          key={opened.item.id}
          rule={opened.item}
          close={() => {
            close();
            update();
          }}
        />
      )}
    </>
  );
}

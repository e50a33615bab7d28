import { orNone, type Part, part } from "../edits/differences.ts";
import { type RuleForm, ruleOf } from "./rule-form.ts";
import { eachText, listText, type Recipients, recipientNames, whenTexts } from "./rule-sentence.tsx";
import { durationText } from "./rules.ts";

/** The parts of a rule, for when two people have changed it. */
export function ruleParts(recipients: Recipients): Part<RuleForm>[] {
  return [
    part("Name", ["name"], ({ name }) => name),
    part("Search", ["q"], ({ q }) => q.trim() || "All events"),
    part(
      "When to notify",
      [
        ...(["type", "amount", "unit", "above", "tag", "every", "at", "weekday", "timeZone"] as const),
        ...metricParts,
      ],
      whenText,
    ),
    part("For each", ["each", "eachTag"], (form) => eachText(ruleOf(form).forEach)),
    part("Forget a value", ["forgetDays"], ({ forgetDays }) =>
      forgetDays === "" ? "Never" : `After ${forgetDays} days`,
    ),
    part("Group alerts by", ["groupBy"], ({ groupBy }) => orNone(groupBy)),
    part("Whom to notify", ["everyone", "members", "schedules", "destinations"], (form) =>
      listText(recipientNames(ruleOf(form).to, recipients)),
    ),
    part("If a destination fails", ["fallback"], ({ fallback }) =>
      orNone(recipients.destinations.find(({ id }) => id === fallback)?.name ?? ""),
    ),
    part("Resolved by", ["resolve"], ({ resolve }) => orNone(resolve.trim())),
    part("Reminder", ["remind", "remindUnit"], (form) => {
      const { remindMinutes } = ruleOf(form);
      return remindMinutes === null ? "Never" : `Every ${durationText(remindMinutes)}`;
    }),
    part("Escalation", ["escalation"], (form) =>
      orNone(
        ruleOf(form)
          .escalation.map(
            ({ minutes, to }) =>
              `after ${durationText(minutes)}, ${listText(recipientNames(to, recipients))}`,
          )
          .join("; "),
      ),
    ),
    part("Urgent", ["urgent"], ({ urgent }) => (urgent ? "Yes" : "No")),
  ];
}

const metricParts = [
  "metric",
  "of",
  "steps",
  "windowHours",
  "compare",
  "against",
  "clear",
  "pending",
  "alertsWithoutData",
] as const;

function whenText(form: RuleForm): string {
  const { when } = ruleOf(form);
  return when ? whenTexts(when).join("") : "Incomplete";
}

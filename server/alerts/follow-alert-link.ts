import type { Kysely } from "kysely";
import { makeChange } from "../audit/changes.ts";
import type { Actor } from "../http/caller.ts";
import type { AlertAction } from "../schemas/alert.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertLink, openAlertLink } from "./alert-links.ts";
import { type AlertRow, acknowledgeAlert, isAcknowledged, resolveAlert, toldTogether } from "./alerts.ts";

/**
 * Acknowledges or resolves the alert of a link, and all open alerts of its group. Wake the fan-out afterwards.
 *
 * @param from - who makes the request
 * @param clickedBy - the person who used the link of a destination, if the service says who. Default: the destination
 *
 * Throws `alert-link-unknown`, `alert-link-used` and `alert-resolved`.
 */
export async function followAlertLink(
  control: Kysely<ControlTables>,
  link: AlertLink,
  action: AlertAction,
  from: Actor,
  clickedBy?: string,
): Promise<void> {
  const { alert, actor } = await openAlertLink(control, link);
  const by = { ...from, ...actor, ...(clickedBy !== undefined && { name: clickedBy }) };
  const recipient = link.accountId ?? link.destinationId;
  await makeChange(control, { actor: by, projectId: alert.projectId }, async (change) => {
    const [first, ...others] = await toldTogether(change.transaction, alert);
    // Those that somebody looks after already are left alone, unless that is all of them.
    const isChanged = (each: AlertRow) => action.do === "resolve" || !isAcknowledged(each, Date.now());
    for (const { id } of [first, ...others.filter(isChanged)])
      await (action.do === "resolve"
        ? resolveAlert(change, id, recipient)
        : acknowledgeAlert(change, id, action.minutes, recipient));
  });
}

import type { ClientBase } from "pg";
import { diagnoseOlder } from "../storage/clickhouse/diagnose.ts";
import { addressesIn } from "../storage/clickhouse/servers.ts";
import { type Finding, ok, problemFound, warning } from "./finding.ts";

const check = "clickhouse";
const refill =
  "If another server has no fault, drop and create this one's database while a node runs: it is filled again.";

/** Compares each server of ClickHouse with what PostgreSQL knows of the events there. All events on them are read. */
export async function checkClickHouse(client: ClientBase, setting: string): Promise<Finding[]> {
  const urls = addressesIn(setting);
  const findings: Finding[] = [];
  for (const url of urls) findings.push(...(await checkServer(client, url, urls.length > 1)));
  // That of counters is the same for all.
  return findings.filter(
    (finding, at) => findings.findIndex(({ detail }) => detail === finding.detail) === at,
  );
}

/** @param hasOthers - whether it is one of several */
async function checkServer(client: ClientBase, url: string, hasOthers: boolean): Promise<Finding[]> {
  const { host, pathname } = new URL(url);
  const prefix = hasOthers ? `${host}${pathname}: ` : "";
  try {
    let compared = await diagnoseOlder(client, url);
    // Events that were removed meanwhile can look as if they were missing.
    if (compared && compared.faults.length > 0) compared = await diagnoseOlder(client, url);
    if (!compared) return [ok(check, "No events were moved there yet.")];
    const { events, blocks, lacks, faults } = compared;
    if (faults.length > 0)
      return faults.map(({ detail, advice, isMendable }) =>
        problemFound(
          check,
          prefix + detail,
          hasOthers && !isMendable ? `${refill} ${advice}` : advice,
          isMendable ? "older" : null,
        ),
      );
    if (lacks) {
      return [
        warning(
          check,
          `${prefix}It lacks ${lacks.blocks} blocks and ${lacks.removals} removals, and is not read.`,
          "Start a node: it gets them from another server. Until then, there is one copy fewer.",
        ),
      ];
    }
    return [
      ok(check, `${prefix}It has ${events} events in ${blocks} blocks, as they were moved.`),
      ok("counters", "No fault found."),
    ];
  } catch (error) {
    return [
      problemFound(
        check,
        `${prefix}It can't be read: ${(error as Error).message}.`,
        "Check CLICKHOUSE_URL, and whether ClickHouse runs. New events are recorded meanwhile.",
      ),
    ];
  }
}

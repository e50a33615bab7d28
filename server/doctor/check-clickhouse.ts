import type { ClientBase } from "pg";
import { diagnoseOlder } from "../storage/clickhouse/diagnose.ts";
import { type Finding, ok, problemFound } from "./finding.ts";

const check = "clickhouse";

/** Compares ClickHouse with what PostgreSQL knows of the events there. All events in ClickHouse are read. */
export async function checkClickHouse(client: ClientBase, url: string): Promise<Finding[]> {
  try {
    let compared = await diagnoseOlder(client, url);
    // Events that were removed meanwhile can look as if they were missing.
    if (compared && compared.faults.length > 0) compared = await diagnoseOlder(client, url);
    if (!compared) return [ok(check, "No events were moved there yet.")];
    if (compared.faults.length > 0)
      return compared.faults.map(({ detail, advice, isMendable }) =>
        problemFound(check, detail, advice, isMendable ? "older" : null),
      );
    return [
      ok(check, `It has ${compared.events} events in ${compared.blocks} blocks, as they were moved.`),
      ok("counters", "No fault found."),
    ];
  } catch (error) {
    return [
      problemFound(
        check,
        `It can't be read: ${(error as Error).message}.`,
        "Check CLICKHOUSE_URL, and whether ClickHouse runs. New events are recorded meanwhile.",
      ),
    ];
  }
}

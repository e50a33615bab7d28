import { defineCommand } from "citty";
import { readConfig } from "../config/config.ts";
import { moveBack } from "../storage/clickhouse/move-back.ts";
import { jsonArg, printResult } from "./output.ts";
import { Progress } from "./progress.ts";
import { failCommand, UsageError } from "./with-store.ts";

export const leaveClickHouseCommand = defineCommand({
  meta: {
    name: "leave-clickhouse",
    description:
      "Move all events from ClickHouse back into PostgreSQL, so that CLICKHOUSE_URL can be removed. Nodes can run",
  },
  args: { json: jsonArg },
  async run({ args }) {
    const progress = new Progress();
    try {
      const { databaseUrl, databaseConnections, clickhouseUrl } = readConfig();
      if (databaseUrl === null || clickhouseUrl === null)
        throw new UsageError("Set DATABASE_URL and CLICKHOUSE_URL, as for the server.");
      const moved = await moveBack({ url: databaseUrl, connections: databaseConnections }, clickhouseUrl, {
        begun: (total) => progress.begin({ name: "events", total, before: 0 }),
        done: (count) => progress.add(count),
      });
      progress.end();
      await printResult(
        args.json,
        moved,
        `PostgreSQL has all events: ${moved.events} came back, of ${moved.blocks} blocks. Remove CLICKHOUSE_URL and restart the nodes. The database in ClickHouse is unchanged; drop it when you no longer need it.`,
      );
    } catch (error) {
      progress.end();
      process.exitCode = failCommand(error);
    }
  },
});

import { defineCommand } from "citty";
import { fullVersion } from "../process/version.ts";
import { jsonArg, printResult } from "./output.ts";

export const versionCommand = defineCommand({
  meta: { name: "version", description: "Print the version and its commit" },
  args: { json: jsonArg },
  run: ({ args }) => printResult(args.json, { version: fullVersion() }, fullVersion()),
});

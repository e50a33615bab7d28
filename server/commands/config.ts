import { defineCommand } from "citty";
import { inspectConfig, type SettingInForce } from "../config/config.ts";
import { printError } from "./output.ts";
import { printTable } from "./table.ts";

const check = defineCommand({
  meta: {
    name: "check",
    description:
      "Print the settings in force, without secrets, and all mistakes. Exits with 1 if there are any",
  },
  args: { json: { type: "boolean", description: "Print JSON" } },
  run({ args }) {
    const { inForce, mistakes } = inspectConfig();
    if (args.json) {
      const settings = inForce.map((setting) => ({ ...setting, value: shown(setting) }));
      console.log(JSON.stringify({ ok: mistakes.length === 0, settings, mistakes }, null, 2));
    } else {
      printTable([
        ["SETTING", "VALUE", "FROM"],
        ...inForce.map((setting) => [setting.variable, shown(setting) ?? "", setting.source]),
      ]);
      for (const mistake of mistakes) printError(mistake);
    }
    process.exitCode = mistakes.length === 0 ? 0 : 1;
  },
});

function shown({ value, isSecret }: SettingInForce): string | null {
  return isSecret && value !== null ? "(secret)" : value;
}

export const configCommand = defineCommand({
  meta: { name: "config", description: "Check the settings" },
  subCommands: { check },
});

import { defineCommand } from "citty";
import { run } from "../main.ts";

export const serveCommand = defineCommand({
  meta: { name: "serve", description: "Run the server" },
  run,
});

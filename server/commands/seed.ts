import { defineCommand } from "citty";
export const seedCommand = defineCommand({ meta: { name: "seed" } });

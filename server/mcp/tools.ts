import { alertTools } from "./alert-tools.ts";
import { analysisTools } from "./analysis-tools.ts";
import { boardTools } from "./board-tools.ts";
import { cohortTools } from "./cohort-tools.ts";
import { eventTools } from "./event-tools.ts";
import { groupTools } from "./group-tools.ts";
import type { Tool } from "./tool.ts";
import { userTools } from "./user-tools.ts";

/** All tools. A client lists those that its key may use. */
export const tools: readonly Tool[] = [
  ...eventTools,
  ...analysisTools,
  ...userTools,
  ...cohortTools,
  ...groupTools,
  ...boardTools,
  ...alertTools,
];

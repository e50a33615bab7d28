import type { WebhookMapping } from "../schemas/webhook.ts";
import { longText } from "./log-lines.ts";

type Line = { id?: unknown; message?: unknown } | null;

export function vercelLineId(line: unknown): string | null {
  const id = (line as Line)?.id;
  return typeof id === "string" && id !== "" ? id : null;
}

export const vercelValues = (line: unknown): Record<string, string> => longText((line as Line)?.message);

const common = {
  description: "{{@text}}",
  createdAt: "{{timestamp}}",
  tags: {
    level: "{{level ?? type}}",
    source: "{{source}}",
    environment: "{{environment}}",
    project: "{{projectName ?? projectId}}",
    deployment: "{{deploymentId}}",
    host: "{{host}}",
    method: "{{proxy.method}}",
    path: "{{proxy.path ?? path ?? entrypoint}}",
    status: "{{statusCode ?? proxy.statusCode}}",
    region: "{{executionRegion ?? proxy.region}}",
    requestId: "{{requestId}}",
  },
};

/** Lines of a drain (https://vercel.com/docs/drains/reference/logs). A status of -1 is a function that crashed. */
export const vercelMappings: WebhookMapping[] = [
  {
    ...common,
    when: 'statusCode == "-1"',
    name: '{{message ?? "Function crashed"}}',
    icon: "💥",
    notify: true,
  },
  {
    ...common,
    when: 'level == "error" or level == "fatal"',
    name: '{{message ?? "Request failed"}}',
    icon: "❌",
  },
  { ...common, when: "message", name: "{{message}}" },
  { ...common, name: "Request" },
];

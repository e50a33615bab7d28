import type { INodeType, INodeTypeDescription } from "n8n-workflow";
import { listFields } from "./list-fields.ts";
import { recordFields } from "./record-fields.ts";
import { checkResponse } from "./refusal.ts";

/** Records and lists events. */
export class Tidings implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Tidings",
    name: "tidings",
    icon: "file:tidings.svg",
    group: ["transform"],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: "Record and list events in Tidings",
    defaults: { name: "Tidings" },
    inputs: ["main"],
    outputs: ["main"],
    usableAsTool: true,
    credentials: [{ name: "tidingsApi", required: true }],
    requestDefaults: {
      baseURL: '={{ $credentials.url.replace(/\\/+$/, "") }}/api',
      headers: { accept: "application/json" },
      ignoreHttpStatusErrors: true,
    },
    properties: [
      {
        displayName: "Resource",
        name: "resource",
        type: "options",
        noDataExpression: true,
        options: [{ name: "Event", value: "event" }],
        default: "event",
      },
      {
        displayName: "Operation",
        name: "operation",
        type: "options",
        noDataExpression: true,
        displayOptions: { show: { resource: ["event"] } },
        options: [
          {
            name: "Get Many",
            value: "getAll",
            action: "Get many events",
            description: "List events, newest first",
            routing: {
              request: { method: "GET", url: "/events" },
              output: {
                postReceive: [checkResponse, { type: "rootProperty", properties: { property: "events" } }],
              },
            },
          },
          {
            name: "Record",
            value: "record",
            action: "Record an event",
            description: "Record something that happened",
            routing: {
              request: {
                method: "POST",
                url: "/events",
                // What n8n tries again is recorded once.
                headers: {
                  "idempotency-key":
                    '={{ [$workflow.id, $execution.id, $nodeId, $runIndex, $itemIndex].join("/") }}',
                },
              },
              output: {
                postReceive: [checkResponse, { type: "rootProperty", properties: { property: "event" } }],
              },
            },
          },
        ],
        default: "record",
      },
      ...recordFields,
      ...listFields,
    ],
  };
}

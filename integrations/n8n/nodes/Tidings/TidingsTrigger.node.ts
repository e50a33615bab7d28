import { randomBytes } from "node:crypto";
import type {
  IDataObject,
  IHookFunctions,
  IHttpRequestMethods,
  IN8nHttpFullResponse,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from "n8n-workflow";
import { checkResponse, throwIfRefused } from "./refusal.ts";
import { isSigned } from "./webhook-signature.ts";

/** What the trigger added to the project, in the static data of its node. */
type Subscription = { destinationId?: string; secret?: string; ruleId?: string };

/** Names of rules and destinations have at most so many characters in Tidings. */
const nameMax = 80;

/** Starts a workflow when a rule of the project matches: its own, or one that is there. */
export class TidingsTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Tidings Trigger",
    name: "tidingsTrigger",
    icon: "file:tidings.svg",
    group: ["trigger"],
    version: 1,
    subtitle: '={{ $parameter["startOn"] === "rule" ? "rule" : $parameter["q"] || "all events" }}',
    description: "Starts the workflow when events are recorded in Tidings, or one of its rules notifies",
    defaults: { name: "Tidings Trigger" },
    inputs: [],
    outputs: ["main"],
    credentials: [{ name: "tidingsApi", required: true }],
    webhooks: [{ name: "default", httpMethod: "POST", responseMode: "onReceived", path: "webhook" }],
    requestDefaults: {
      baseURL: '={{ $credentials.url.replace(/\\/+$/, "") }}/api',
      headers: { accept: "application/json" },
      ignoreHttpStatusErrors: true,
    },
    properties: [
      {
        displayName: "Start On",
        name: "startOn",
        type: "options",
        options: [
          {
            name: "Events of a Search",
            value: "search",
            description: "Each event that matches a search, as soon as it is recorded",
          },
          {
            name: "Messages of a Rule",
            value: "rule",
            description: "What a rule of the project notifies of: bursts, digests, silences, counts, metrics",
          },
        ],
        default: "search",
      },
      {
        displayName: "Search",
        name: "q",
        type: "string",
        displayOptions: { show: { startOn: ["search"] } },
        default: "",
        placeholder: "e.g. channel:payments amount=49",
        description: "A search as in the dashboard. Without one, all events start the workflow.",
      },
      {
        displayName: "Rule Name or ID",
        name: "ruleId",
        type: "options",
        typeOptions: {
          loadOptions: {
            routing: {
              request: { method: "GET", url: "/rules" },
              output: {
                postReceive: [
                  checkResponse,
                  { type: "rootProperty", properties: { property: "rules" } },
                  {
                    type: "setKeyValue",
                    properties: { name: "={{ $responseItem.name }}", value: "={{ $responseItem.id }}" },
                  },
                  { type: "sort", properties: { key: "name" } },
                ],
              },
            },
          },
        },
        displayOptions: { show: { startOn: ["rule"] } },
        required: true,
        default: "",
        description:
          'Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>',
      },
    ],
  };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { destinationId } = subscriptionOf(this);
        if (destinationId === undefined) return false;
        const { destinations } = await call(this, "GET", "/project-destinations");
        return (destinations as { id: string }[]).some(({ id }) => id === destinationId);
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const startsOnRule = this.getNodeParameter("startOn") === "rule";
        const name = nameOf(this);
        const { destination, signingSecret } = await call(this, "POST", "/project-destinations", {
          kind: "webhook",
          name,
          settings: { url: this.getNodeWebhookUrl("default") },
          rules: startsOnRule ? [this.getNodeParameter("ruleId")] : [],
        });
        const subscription = subscriptionOf(this);
        subscription.destinationId = (destination as { id: string }).id;
        subscription.secret = signingSecret as string;
        if (startsOnRule) return true;
        try {
          const { rule } = await call(this, "POST", "/rules", {
            name,
            q: this.getNodeParameter("q"),
            when: { type: "each" },
            to: { everyone: false, members: [], destinations: [subscription.destinationId] },
          });
          subscription.ruleId = (rule as { id: string }).id;
        } catch (error) {
          // n8n doesn't delete what it didn't see created.
          await unsubscribe(this);
          throw error;
        }
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        await unsubscribe(this);
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = subscriptionOf(this);
    const headers = this.getHeaderData() as Record<string, unknown>;
    const { rawBody } = this.getRequestObject();
    if (secret === undefined || !isSigned({ headers, body: rawBody }, secret, Date.now())) {
      this.getResponseObject().status(401).send("The signature isn't one of this workflow's destination.");
      return { noWebhookResponse: true };
    }
    // All attempts of a message have the same ID.
    return { workflowData: [[{ json: { id: headers["webhook-id"] as string, ...this.getBodyData() } }]] };
  }
}

function subscriptionOf(node: IHookFunctions | IWebhookFunctions): Subscription {
  return node.getWorkflowStaticData("node") as Subscription;
}

/** The name of what the trigger adds, by which people recognize it. Names differ, also those of two nodes. */
function nameOf(node: IHookFunctions): string {
  const suffix = ` (n8n ${randomBytes(3).toString("hex")})`;
  return `${node.getWorkflow().name ?? "Workflow"}`.slice(0, nameMax - suffix.length) + suffix;
}

/** Deletes what the trigger added. A rule that was there before stays, and no longer reaches the workflow. */
async function unsubscribe(node: IHookFunctions): Promise<void> {
  const subscription = subscriptionOf(node);
  const { ruleId, destinationId } = subscription;
  if (ruleId !== undefined) await remove(node, `/rules/${ruleId}`);
  delete subscription.ruleId;
  if (destinationId !== undefined) await remove(node, `/project-destinations/${destinationId}`);
  delete subscription.destinationId;
  delete subscription.secret;
}

/** Deletes something, which somebody may have deleted by hand. */
async function remove(node: IHookFunctions, path: string): Promise<void> {
  const response = await request(node, "DELETE", path);
  if (response.statusCode !== 404) throwIfRefused(node, response);
}

async function call(
  node: IHookFunctions,
  method: IHttpRequestMethods,
  path: string,
  body?: IDataObject,
): Promise<IDataObject> {
  const response = await request(node, method, path, body);
  throwIfRefused(node, response);
  return response.body as IDataObject;
}

async function request(
  node: IHookFunctions,
  method: IHttpRequestMethods,
  path: string,
  body?: IDataObject,
): Promise<IN8nHttpFullResponse> {
  const { url } = await node.getCredentials<{ url: string }>("tidingsApi");
  return node.helpers.httpRequestWithAuthentication.call(node, "tidingsApi", {
    method,
    url: `${url.replace(/\/+$/, "")}/api${path}`,
    ...(body && { body }),
    json: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
  });
}

import { cpSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runProgram } from "../../../clients/testing/programs.ts";

/** Exact versions of n8n's engine: its loader of packages, its expressions and its HTTP requests. */
export const engineVersions = ["n8n-workflow@2.41.0", "n8n-core@2.41.1", "@types/node@22.20.1"];

type Parameters = Record<string, unknown>;
type Item = { json: Record<string, unknown> };
export type Credentials = { url: string; apiKey: string };
/** Of n8n, whose types are not installed with the project's. */
// biome-ignore lint/suspicious/noExplicitAny: n8n's own types check the package when it is built
type Unknown = any;

/**
 * Builds and packs the package as it is published, and unpacks it into `package` of the folder that it returns: one
 * beneath n8n's, so that the package finds n8n as it does there.
 */
export async function packInto(directory: string): Promise<string> {
  const folder = mkdtempSync(join(directory, "package-"));
  for (const name of ["package.json", "tsconfig.json", "build.mjs", "README.md", "credentials", "nodes"])
    cpSync(join(import.meta.dir, "..", name), join(folder, name), { recursive: true });
  const archive = await runProgram(["npm", "pack", "--silent"], folder);
  await runProgram(["tar", "-xzf", archive.trim().split("\n").at(-1)!], folder);
  return folder;
}

/**
 * n8n's engine with the nodes of a package, without the editor and the database around it: what n8n stores is held here.
 *
 * @param directory - has n8n's `node_modules`
 * @param packageDirectory - the installed package
 */
export async function loadNodes(directory: string, packageDirectory: string) {
  const load = createRequire(join(directory, "package.json"));
  load("reflect-metadata");
  const core: Unknown = load("n8n-core");
  const engine: Unknown = load("n8n-workflow");
  const loader = new core.PackageDirectoryLoader(packageDirectory);
  await loader.loadAll();
  const typeOf = (name: string) => loader.nodeTypes[name].type;
  const { type: credentialType } = loader.credentialTypes.tidingsApi;
  let executions = 0;

  /** A workflow with one node. */
  function workflowOf(
    type: string,
    parameters: Parameters,
    credentials: Credentials,
    nodeType = typeOf(type),
  ) {
    const node = {
      id: `node-${type}`,
      name: "Node",
      type,
      typeVersion: 1,
      position: [0, 0],
      webhookId: "0192f0c1",
      parameters: engine.NodeHelpers.getNodeParameters(
        nodeType.description.properties,
        parameters,
        true,
        false,
        null,
        nodeType.description,
      ),
      credentials: { tidingsApi: { id: "1", name: "Tidings" } },
    };
    const workflow = new engine.Workflow({
      id: "workflow-1",
      name: "Orders",
      nodes: [node],
      connections: {},
      active: true,
      nodeTypes: {
        getByNameAndVersion: () => nodeType,
        getByName: () => nodeType,
        getKnownTypes: () => ({}),
      },
      settings: { timezone: "Europe/Berlin" },
    });
    const additional = {
      executionId: String(++executions),
      webhookBaseUrl: "http://127.0.0.1:1/webhook",
      webhookTestBaseUrl: "http://127.0.0.1:1/webhook-test",
      restApiUrl: "",
      instanceBaseUrl: "",
      variables: {},
      currentNodeExecutionIndex: 0,
      credentialsHelper: {
        getParentTypes: () => [],
        isCredentialUsableByNode: () => true,
        preAuthentication: async () => undefined,
        getDecrypted: async () => ({ ...credentials }),
        /** As n8n does for credentials that are "generic". */
        authenticate: async (data: Credentials, _: string, options: Unknown) => {
          const header = credentialType.authenticate.properties.headers["x-api-key"];
          if (header !== "={{ $credentials.apiKey }}") throw new Error(`Unknown expression: ${header}`);
          return { ...options, headers: { ...options.headers, "x-api-key": data.apiKey } };
        },
      },
    } as Unknown;
    return { workflow, node, additional, nodeType };
  }

  /** Runs a declarative node as n8n does. */
  async function execute(opened: ReturnType<typeof workflowOf>, items: Item[]): Promise<Item[]> {
    const { workflow, node, additional, nodeType } = opened;
    const data = { main: [items] };
    const run = engine.createEmptyRunExecutionData();
    const executeData = { node, data, source: null };
    const context = new core.ExecuteContext(
      ...[workflow, node, additional, "internal", run, 0, items, data, executeData, []],
    );
    return (await new core.RoutingNode(context, nodeType).runNode())[0];
  }

  /** A node that has only one request, such as the test of a credential. */
  function typeOfRequest(routing: object) {
    const description = { ...typeOf("tidings").description };
    description.properties = [{ displayName: "", name: "request", type: "string", default: "", routing }];
    return { description };
  }

  return {
    typeOf,
    credentialType,
    /** Runs the action node on items, and returns what it returns. */
    async run(parameters: Parameters, credentials: Credentials, items: Item[] = [{ json: {} }]) {
      return (await execute(workflowOf("tidings", parameters, credentials), items)).map(({ json }) => json);
    },
    /** The same twice in one execution, as n8n does after an error. */
    async runTwice(parameters: Parameters, credentials: Credentials) {
      const opened = workflowOf("tidings", parameters, credentials);
      const first = await execute(opened, [{ json: {} }]);
      return [...first, ...(await execute(opened, [{ json: {} }]))].map(({ json }) => json);
    },
    /** Makes the request that tests a credential. Returns why n8n says that it failed, or null. */
    async testCredential(credentials: Credentials): Promise<string | null> {
      const { request, rules } = credentialType.test;
      const opened = workflowOf("tidings", {}, credentials, typeOfRequest({ request }));
      opened.nodeType.description.requestDefaults = undefined;
      let answer: Record<string, unknown>;
      try {
        answer = (await execute(opened, [{ json: {} }]))[0]!.json;
      } catch (error) {
        return (error as Error).message;
      }
      for (const { properties } of rules)
        if (answer[properties.key] === properties.value) return properties.message;
      return null;
    },
    /** The choices of a field. */
    async optionsOf(type: string, field: string, credentials: Credentials) {
      const property = typeOf(type).description.properties.find(({ name }: Unknown) => name === field);
      const nodeType = typeOfRequest(property.typeOptions.loadOptions.routing);
      nodeType.description.requestDefaults = typeOf(type).description.requestDefaults;
      return (await execute(workflowOf(type, {}, credentials, nodeType), [{ json: {} }])).map(
        ({ json }) => json,
      );
    },
    /** The trigger in a workflow: what n8n does when it is published and unpublished, and for each request. */
    trigger(parameters: Parameters, credentials: Credentials, webhookUrl: string) {
      const { workflow, node, additional, nodeType } = workflowOf("tidingsTrigger", parameters, credentials);
      const hook = (name: "checkExists" | "create" | "delete"): Promise<boolean> => {
        const context = new core.HookContext(workflow, node, additional, "trigger", "activate", {
          isTest: false,
          webhookDescription: nodeType.description.webhooks[0],
        });
        context.getNodeWebhookUrl = () => webhookUrl;
        return nodeType.webhookMethods.default[name].call(context);
      };
      return {
        checkExists: () => hook("checkExists"),
        create: () => hook("create"),
        delete: () => hook("delete"),
        staticData: () => workflow.getStaticData("node", node),
        /** What n8n starts the workflow with, or the response if it doesn't. */
        async receive(request: Request): Promise<{ items: Item[] | undefined; status: number }> {
          const rawBody = Buffer.from(await request.arrayBuffer());
          let status = 200;
          const httpResponse = {
            status(code: number) {
              status = code;
              return httpResponse;
            },
            send: () => httpResponse,
          };
          const httpRequest = {
            headers: Object.fromEntries(request.headers),
            body: JSON.parse(rawBody.toString() || "{}"),
            rawBody,
            query: {},
            params: {},
          };
          const context = new core.WebhookContext(
            ...[workflow, node, { ...additional, httpRequest, httpResponse }, "webhook", {}, [], null],
          );
          const { workflowData } = await nodeType.webhook.call(context);
          return { items: workflowData?.[0], status };
        },
      };
    },
  };
}

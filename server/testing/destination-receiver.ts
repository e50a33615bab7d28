import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  plain,
  type ReceivedRequest,
  type Service,
  services,
  webhookSecret,
} from "./destination-services.ts";

export type DestinationReceiver = Awaited<ReturnType<typeof destinationReceiver>>;

type Answer = [status: number, body: unknown];
type Answerer = (request: ReceivedRequest) => Answer | Promise<Answer>;

/**
 * Starts a server on loopback that behaves like the services of all kinds of destinations. It accepts only what their
 * documentation allows, and answers as they do: in their own forms, and with 4xx and a reason if anything is wrong.
 *
 * @example
 * await using receiver = await destinationReceiver();
 * await slack.send(message, receiver.settings.slack, context);
 * const { body } = receiver.take();
 */
export async function destinationReceiver() {
  const received: ReceivedRequest[] = [];
  const calls: ReceivedRequest[] = [];
  let answerer: Answerer | null = null;
  const plans: ((request: ReceivedRequest, response: ServerResponse) => void)[] = [];
  const messages = new Map<string, string>();

  function answer(service: Service, request: ReceivedRequest): Answer {
    const fault = faultOf(service, request);
    if (fault !== null) return [400, (service.reject ?? plain)(fault)];
    const missing = service.missing?.(request, messages);
    if (missing) return missing;
    (service.isCall ? calls : received).push(request);
    return [200, service.accept(request, messages)];
  }

  const server = createServer(async (incoming, response) => {
    const request = await read(incoming);
    const plan = plans.shift();
    if (plan) return plan(request, response);
    const service = services.find(({ path }) => path.test(request.path));
    const [status, body] = answerer
      ? await answerer(request)
      : service
        ? answer(service, request)
        : [404, "There is nothing here."];
    response.writeHead(status, {
      "content-type": typeof body === "string" ? "text/plain" : "application/json",
    });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    settings: settingsFor(origin),
    /** Answers the next request with this, whatever it is. */
    answerNext(status: number, body: unknown = "", headers: Record<string, string> = {}): void {
      plans.push((_, response) =>
        response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body)),
      );
    },
    /** Answers all requests with what this returns, whatever they are. */
    answerAll(answer: Answerer): void {
      answerer = answer;
    },
    /** Answers the next request with 400, and repeats its path, credentials and body. */
    echoNext(): void {
      plans.push(({ path, headers }, response) => {
        const { authorization = "", "x-gotify-key": key = "", "x-raw-body": body } = headers;
        response.writeHead(400).end(`${path} ${authorization}${key} ${body}`);
      });
    },
    /** The next request, whatever it is. It is accepted. */
    inspectNext(): Promise<ReceivedRequest> {
      const { promise, resolve } = Promise.withResolvers<ReceivedRequest>();
      plans.push((request, response) => {
        response.end();
        resolve(request);
      });
      return promise;
    },
    /** Closes the connection of the next request. */
    cutNext(): void {
      plans.push((_, response) => response.destroy());
    },
    /** What was accepted and is no message. */
    calls,
    /** How many requests were accepted and not taken. */
    get count(): number {
      return received.length;
    },
    /** The only request that was accepted since the last call. */
    take(): ReceivedRequest {
      const [request, ...more] = received.splice(0);
      if (!request || more.length > 0) throw new Error(`${more.length + (request ? 1 : 0)} were accepted.`);
      return request;
    },
    /** Forgets the messages that were sent, as if somebody had deleted them. */
    deleteMessages: () => messages.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Settings with which each kind sends to the receiver. */
function settingsFor(origin: string) {
  return {
    webhook: { url: `${origin}/hooks/tidings-0123456789`, secret: webhookSecret },
    slack: { url: `${origin}/services/T00000000/B00000000/ABCDEFGHIJKLMNOPQRSTUVWX` },
    discord: { url: `${origin}/api/webhooks/1234567890/the-token-of_discord` },
    telegram: {
      token: "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
      chat: "-1001234567890",
      server: origin,
    },
    teams: {
      url: `${origin}/workflows/0123456789abcdef/triggers/manual/paths/invoke?sig=signature-of-teams`,
    },
    ntfy: { server: origin, topic: "tidings-topic-x1", token: "tk_0123456789abcdefghijklmnopqrs" },
    gotify: { server: `${origin}/gotify/`, token: "A-token.of-gotify" },
    pushover: { token: "azGDORePK8gMaC0QOYAMyEEuzJnyUi", user: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG" },
    matrix: { server: origin, token: "syt_token_of_matrix", room: "!room:example.com" },
    apprise: { server: origin, key: "key-of-apprise" },
  };
}

function faultOf(service: Service, request: ReceivedRequest): string | null {
  if (!service.methods.includes(request.method)) return `${request.method} is not allowed.`;
  for (const [name, value] of Object.entries(service.headers ?? {})) {
    if (request.headers[name] !== value) return `The header ${name} is ${request.headers[name]}.`;
  }
  const { error } = service.body.safeParse(request.body);
  if (error)
    return error.issues.map((issue) => `${issue.path.join("/")} ${JSON.stringify(issue)}`).join("\n");
  try {
    return service.check?.(request) ?? null;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

async function read(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const raw = Buffer.concat(await Array.fromAsync(incoming)).toString();
  const headers: Record<string, string> = { ...(incoming.headers as object), "x-raw-body": raw };
  const isForm = headers["content-type"]!.includes("form");
  const body = isForm ? Object.fromEntries(new URLSearchParams(raw)) : JSON.parse(raw);
  return { method: incoming.method!, path: incoming.url!, headers, body };
}

import type { Answers } from "./answers.ts";

/** Longer than Tidings takes to answer that its storage is unavailable. */
const timeoutMs = 12_000;

type Answer = { status: number; body: string };
export type Call = (path: string, init?: RequestInit) => Promise<Answer | null>;

/** Returns a function that calls the service, and resolves to null if there is no complete answer. */
export function createCall(address: string, apiKey: string, answers: Answers): Call {
  return async (path, init = {}) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { "x-api-key": apiKey, "content-type": "application/json", ...(init.headers as object) };
    let answer: Answer | null = null;
    try {
      const response = await fetch(address + path, { ...init, headers, signal });
      answer = { status: response.status, body: await response.text() };
    } catch {
      // The load balancer or the node was killed, or it is paused.
    }
    answers.add(answer?.status ?? null, `${init.method ?? "GET"} ${path}`, answer?.body ?? "");
    return answer;
  };
}

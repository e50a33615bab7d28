import { expect, test } from "bun:test";
import { z } from "@hono/zod-openapi";
import { requestSignal } from "../scheduling/deadline.ts";
import type { CallerLookup } from "./caller.ts";
import { errorResponse } from "./failures.ts";
import { Routes } from "./routes.ts";

const never = () => new Promise<never>(() => {});

/** Routes whose requests have little time, and the idle timeouts that they set. */
function hurriedRoutes() {
  const timeouts: number[] = [];
  const routes = new Routes(
    {} as CallerLookup,
    () => null,
    (_request, seconds) => timeouts.push(seconds),
    async () => null,
    0.02,
  );
  routes.app.onError((error, { req }) => errorResponse(error, { requestFailed: () => {} }, req.raw));
  const route = { path: "/slow", by: "anyone", tag: "Status", summary: "", response: z.object({}) } as const;
  return { routes, route, timeouts };
}

test("any route that takes too long answers with a problem, and its reads end", async () => {
  const { routes, route, timeouts } = hurriedRoutes();
  let signal: AbortSignal | undefined;
  routes.add({ ...route, method: "get" }, () => {
    signal = requestSignal();
    return never();
  });
  const response = await routes.app.request("http://localhost/slow");
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    ok: false,
    type: "/problems/query-too-expensive",
    detail: "This takes longer than 0.02 seconds. Use a shorter range or more filters.",
  });
  expect(signal!.aborted).toBe(true);
  // The connection stays open until then, and for as long as usual while the client reads the response.
  expect(timeouts).toEqual([10.02, 10]);
});

test("a change that takes too long says that it may still complete", async () => {
  const { routes, route } = hurriedRoutes();
  routes.add({ ...route, method: "post" }, never);
  const response = await routes.app.request("http://localhost/slow", { method: "POST" });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ detail: expect.stringContaining("It may still complete") });
});

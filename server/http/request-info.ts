/** Facts about a request: an id that its response, its problem and the log share, and its route. */

const ids = new WeakMap<Request, string>();
const routes = new WeakMap<Request, string>();

/** Ids that clients may choose: those that are safe in a log. */
const idPattern = /^[\w.:-]{1,128}$/;
const ownPrefix = crypto.randomUUID().slice(0, 8);
let lastNumber = 0;

/** The request's id: its `x-request-id` if that is valid, or else one of ours. */
export function requestId(request: Request): string {
  let id = ids.get(request);
  if (id === undefined) {
    const sent = request.headers.get("x-request-id");
    id = sent !== null && idPattern.test(sent) ? sent : `${ownPrefix}-${(++lastNumber).toString(36)}`;
    ids.set(request, id);
  }
  return id;
}

/** The path of the route that handles a request, as declared: `/api/events/{id}`. */
export function setRoutePath(request: Request, path: string): void {
  routes.set(request, path);
}

/** Null if no route of the API handles it: a page, a file, or an unknown path. */
export function routePath(request: Request): string | null {
  return routes.get(request) ?? null;
}

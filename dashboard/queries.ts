import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./api.ts";

/** Set by `main.tsx`: what happens when the session has ended. */
export const session = { ended: () => {} };

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError(error) {
      if (error instanceof ApiError && error.status === 401) session.ended();
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the server refuses it will refuse again; what did not arrive is worth a second try.
      retry: (count, error) =>
        count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
});

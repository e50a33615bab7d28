import { queryOptions } from "@tanstack/react-query";
import { api } from "../api.ts";

export const setupQuery = queryOptions({
  queryKey: ["setup"],
  queryFn: () => api<{ ok: true; needed: boolean }>("/api/setup"),
  staleTime: 0,
});

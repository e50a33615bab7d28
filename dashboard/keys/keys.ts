import { queryOptions } from "@tanstack/react-query";
import type { Key } from "../../server/wire/key.ts";
import { api } from "../api.ts";

export function keysQuery(project: string) {
  return queryOptions({
    queryKey: ["keys", project],
    queryFn: async () => (await api<{ ok: true; keys: Key[] }>("/api/keys", { query: { project } })).keys,
  });
}

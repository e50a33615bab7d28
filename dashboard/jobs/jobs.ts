import { queryOptions } from "@tanstack/react-query";
import type { Job } from "../../server/schemas/job.ts";
import { api } from "../api.ts";

const pollMs = 500;

export function jobQuery(id: string) {
  return queryOptions({
    queryKey: ["job", id],
    queryFn: async () => (await api<{ ok: true; job: Job }>(`/api/jobs/${id}`)).job,
    refetchInterval: ({ state }) => (state.data?.state === "done" ? false : pollMs),
  });
}

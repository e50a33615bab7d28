import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Board } from "../../server/schemas/board.ts";
import { api, errorMessage } from "../api.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

/** The actions of a board's menu. */
export function useBoardActions(project: string, id: string) {
  const navigate = useNavigate();
  const path = `/api/boards/${id}`;
  const duplicate = useMutation({
    mutationFn: ({ name, tiles }: Board) =>
      api<{ board: Board }>("/api/boards", {
        method: "POST",
        query: { project },
        body: { name: `${name.slice(0, 70)} (copy)`, tiles },
      }),
    async onSuccess({ board }) {
      await refresh(["boards", project]);
      void navigate({ to: "/p/$project/boards/$board", params: { project, board: board.id } });
    },
    ...failed("The board couldn't be duplicated"),
  });
  const move = useMutation({
    mutationFn: (position: number) => api(path, { method: "PATCH", query: { project }, body: { position } }),
    onSuccess: () => void refresh(["boards", project]),
    ...failed("The board couldn't be moved"),
  });
  const restore = useMutation({
    mutationFn: () => api(`${path}/restore`, { method: "POST", query: { project } }),
    async onSuccess() {
      await refresh(["boards", project]);
      void navigate({ to: "/p/$project/boards/$board", params: { project, board: id } });
    },
    ...failed("The board couldn't be restored"),
  });
  const remove = useMutation({
    mutationFn: (_: Board) => api(path, { method: "DELETE", query: { project } }),
    async onSuccess(_, { name }) {
      await navigate({ to: "/p/$project/boards", params: { project } });
      await refresh(["boards", project]);
      toast({ title: `Board "${name}" deleted`, undo: () => restore.mutate() });
    },
    ...failed("The board couldn't be deleted"),
  });
  return { duplicate, move, remove };
}

/** Options of a mutation whose failure is shown as a toast. */
function failed(title: string) {
  return {
    onError: (error: unknown) => toast({ title, description: errorMessage(error), failed: true }),
  };
}

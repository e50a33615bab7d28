import { useQueryClient } from "@tanstack/react-query";
import type { Project, ProjectChange } from "../../server/schemas/project.ts";
import { meQuery } from "../account/me.ts";
import { api } from "../api.ts";
import { byParts, part } from "../edits/differences.ts";
import { useDraftKey } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { putProject } from "../projects/put-project.ts";

type Setting = {
  label: string;
  textOf: (project: Project) => string;
  changeOf: (text: string) => ProjectChange;
  /** The meaning of an empty text. */
  empty?: string;
};

/** One setting of a project, as the text in its field. */
export function useProjectSetting(project: Project, { label, textOf, changeOf, empty = "" }: Setting) {
  const queries = useQueryClient();
  return useEdit<Project, { text: string }, Project>({
    thing: project,
    what: "project",
    isSingle: true,
    draft: useDraftKey("setting")(label),
    formOf: (each) => ({ text: textOf(each) }),
    compare: byParts([part(label, ["text"], ({ text }) => text.trim() || empty)]),
    keys: [meQuery.queryKey],
    save: async ({ text }, base) => changeProject(project.slug, changeOf(text), base.version),
    saved: (saved) => putProject(queries, saved),
  });
}

export async function changeProject(slug: string, body: ProjectChange, version?: string): Promise<Project> {
  const options = { method: "PATCH", body, ...(version !== undefined && { version }) } as const;
  return (await api<{ project: Project }>(`/api/projects/${encodeURIComponent(slug)}`, options)).project;
}

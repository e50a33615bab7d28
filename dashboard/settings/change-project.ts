import type { Project, ProjectChange } from "../../server/wire/project.ts";
import { api } from "../api.ts";

export function changeProject(slug: string, change: ProjectChange): Promise<{ ok: true; project: Project }> {
  return api(`/api/projects/${encodeURIComponent(slug)}`, { method: "PATCH", body: change });
}

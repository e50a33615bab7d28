/** The project that a command is about. */
export const projectArg = {
  type: "string",
  required: true,
  description: "Project, by name or slug",
  valueHint: "P",
} as const;

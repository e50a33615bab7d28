import { escapeMarkdown } from "./kinds/markup.ts";
import type { Message } from "./message.ts";
import type { ReportNotification } from "./notification-message.ts";
import type { ReportContent, ReportSection } from "./report-content.ts";

/** The title of a report, which its delivery has, too. */
export function titleOfReport({ board, isTest }: Pick<ReportNotification, "board" | "isTest">): string {
  return `${isTest ? "Test: " : ""}${board.name}`;
}

/** The message of a report. Its Markdown is for chats; email and webhooks make more of the report itself. */
export function messageOfReport(
  report: ReportContent,
  { id, project, baseUrl, atMs }: Pick<Message, "id" | "project"> & { baseUrl: string; atMs: number },
): Message {
  const link = new URLSearchParams(report.days);
  return {
    id,
    type: "report",
    title: `${titleOfReport(report)}, ${report.period}`,
    icon: "📊",
    text: report.sections.map((section) => sectionText(section)).join("\n\n"),
    fields: [],
    url: `${baseUrl}/p/${project.slug}/boards/${report.board.id}?${link}`,
    project,
    rule: null,
    matches: null,
    event: null,
    newest: [],
    thread: null,
    createdAt: new Date(atMs).toISOString(),
    urgent: false,
    report,
  };
}

function sectionText({ title, value, change, rows, text, note }: ReportSection): string {
  const head =
    title === "" ? [] : [`**${escapeMarkdown(title)}**${value === null ? "" : `: ${escapeMarkdown(value)}`}`];
  return [
    ...head,
    ...(change === null ? [] : [escapeMarkdown(change)]),
    ...(note === null ? [] : [escapeMarkdown(note)]),
    ...(text === null ? [] : [text]),
    ...rows.map(
      ([name = "", ...values]) =>
        `- ${escapeMarkdown(name)}: ${escapeMarkdown(values.filter((each) => each !== "").join(" · "))}`,
    ),
  ].join(rows.length > 0 ? "\n" : "  \n");
}

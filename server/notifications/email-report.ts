import type { EmailContent, EmailReader } from "./email-content.ts";
import { markdownHtml, markdownText } from "./email-markdown.ts";
import { emailButton, emailPage, oneLine } from "./email-page.ts";
import type { Message } from "./message.ts";
import type { ReportContent, ReportSection } from "./report-content.ts";

const pictureId = "picture@report";

type Report = { message: Message; report: ReportContent; picture: Uint8Array | null };

/** The parts of a report's email that differ from those of other messages: texts, and the picture within them. */
export function renderReport(
  { message, report, picture }: Report,
  { unsubscribeUrl, baseUrl }: EmailReader,
): Pick<EmailContent, "subject" | "text" | "html" | "attachments"> {
  const { project, url } = message;
  const about = `${project.name} · ${report.period}`;
  const settingsUrl = `${baseUrl}/p/${project.slug}/reports`;
  const text = [
    `${report.board.name}\n${about}`,
    ...(report.isTest ? [testNote] : []),
    ...report.sections.map(sectionLines),
    `Open the board: ${url}`,
    [
      `-- \n${report.why}`,
      `Change the report: ${settingsUrl}`,
      ...(unsubscribeUrl ? [`Stop this report: ${unsubscribeUrl}`] : []),
    ].join("\n"),
  ];
  return {
    subject: oneLine(`${message.title} · ${project.name}`),
    text: `${text.filter((part) => part.trim() !== "").join("\n\n")}\n`,
    html: emailPage({
      title: message.title,
      card: cardOf({ message, report, picture }, about),
      footer: [
        `${Bun.escapeHTML(report.why)}<br>${footerLink("Change the report", settingsUrl)}`,
        ...(unsubscribeUrl ? [footerLink("Stop this report", unsubscribeUrl)] : []),
      ].join(" · "),
      width: 640,
    }),
    ...(picture && {
      attachments: [
        {
          filename: "board.png",
          content: Buffer.from(picture),
          contentType: "image/png",
          contentDisposition: "inline",
          cid: pictureId,
        },
      ],
    }),
  };
}

const testNote = "This is a test. It comes as the report will.";

function cardOf({ message: { url }, report, picture }: Report, about: string): string {
  const image = picture
    ? `
      <a href="${Bun.escapeHTML(url)}"><img src="cid:${pictureId}" width="590" alt="Charts of the board. The numbers are below." style="display: block; width: 100%; max-width: 590px; height: auto; margin-top: 18px; border: 0; border-radius: 8px"></a>`
    : "";
  return `
      <div class="strong" dir="auto" style="font-size: 20px; line-height: 26px; font-weight: 600; color: #26241f; word-break: break-word">${Bun.escapeHTML(report.board.name)}</div>
      <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a; word-break: break-word">${Bun.escapeHTML(about)}</div>${
        report.isTest
          ? `
      <div class="strong" style="margin-top: 10px; font-size: 14px; line-height: 20px; color: #26241f">${testNote}</div>`
          : ""
      }${image}${report.sections.map(sectionHtml).join("")}
      ${emailButton("Open the board", url)}`;
}

function sectionHtml({ title, value, change, head, rows, text, note }: ReportSection): string {
  const soft = (content: string) => `
        <div class="soft" dir="auto" style="font-size: 13px; line-height: 20px; color: #77716a; word-break: break-word">${Bun.escapeHTML(content)}</div>`;
  return `
      <div class="line" style="margin-top: 20px; padding-top: 16px; border-top: 1px solid #eeeae4">${
        title === ""
          ? ""
          : `
        <div class="strong" dir="auto" style="font-size: 14px; line-height: 20px; font-weight: 600; color: #26241f; word-break: break-word">${Bun.escapeHTML(title)}</div>`
      }${
        value === null
          ? ""
          : `
        <div class="strong" style="font-size: 24px; line-height: 32px; font-weight: 600; color: #26241f">${Bun.escapeHTML(value)}</div>`
      }${change === null ? "" : soft(change)}${note === null ? "" : soft(note)}${
        text === null
          ? ""
          : `
        <div class="strong" dir="auto" style="font-size: 14px; line-height: 21px; color: #26241f; word-break: break-word">${markdownHtml(text)}</div>`
      }${rows.length === 0 ? "" : tableHtml(head, rows)}
      </div>`;
}

function tableHtml(head: string[], rows: string[][]): string {
  const cell = (tag: "th" | "td", content: string, index: number, line: string) => {
    const align = index === 0 ? "left" : "right";
    const look = tag === "th" ? "soft" : "strong";
    const color = tag === "th" ? "#77716a; font-size: 12px; font-weight: 400" : "#26241f";
    const width = index === 0 ? "word-break: break-word" : "white-space: nowrap";
    return `<${tag} class="${look} line"${tag === "th" ? ' scope="col"' : ""} dir="auto" style="padding: 5px 0 5px ${index === 0 ? 0 : 14}px; text-align: ${align}; color: ${color}; ${width}${line}">${Bun.escapeHTML(content)}</${tag}>`;
  };
  const row = (cells: string[], tag: "th" | "td", line: string) =>
    `
          <tr>${cells.map((content, index) => cell(tag, content, index, line)).join("")}</tr>`;
  return `
        <table width="100%" cellpadding="0" cellspacing="0" style="margin-top: 6px; border-collapse: collapse; font-size: 14px; line-height: 20px">${row(head, "th", "")}${rows.map((cells) => row(cells, "td", "; border-top: 1px solid #eeeae4")).join("")}
        </table>`;
}

function sectionLines({ title, value, change, head, rows, text, note }: ReportSection): string {
  return [
    value === null ? title : `${title}: ${value}`,
    change ?? "",
    note ?? "",
    text === null ? "" : markdownText(text),
    ...(rows.length === 0 ? [] : [head, ...rows].map((cells) => `  ${cells.filter(Boolean).join(" · ")}`)),
  ]
    .filter((line) => line.trim() !== "")
    .join("\n");
}

function footerLink(text: string, url: string): string {
  return `<a class="soft" href="${Bun.escapeHTML(url)}" style="color: #77716a">${Bun.escapeHTML(text)}</a>`;
}

import { oneLine } from "./email-page.ts";
import type { Digest } from "./message.ts";

/** A digest's list as plain text, an item each. */
export function digestLines({ items, others }: Pick<Digest, "items" | "others">): string[] {
  const lines = items.map(({ title, about, at, url }) =>
    [oneLine(title), [about, at].filter((part) => part !== "").join(" · "), url].join("\n"),
  );
  return [...lines, ...(others > 0 ? [othersText(others)] : [])];
}

/** The same as HTML. */
export function digestTable({ items, others }: Pick<Digest, "items" | "others">): string {
  const rows = items.map(
    ({ title, about, at, url }, index) => `
        <tr><td class="line" style="padding: 9px 0; word-break: break-word${index === 0 ? "" : "; border-top: 1px solid #eeeae4"}" dir="auto">
          <a class="strong" href="${Bun.escapeHTML(url)}" style="color: #26241f; font-weight: 600; text-decoration: none">${Bun.escapeHTML(title)}</a>
          <div class="soft" style="font-size: 12px; line-height: 18px; color: #77716a">${Bun.escapeHTML([about, at].filter((part) => part !== "").join(" · "))}</div>
        </td></tr>`,
  );
  const rest =
    others > 0
      ? `
      <div class="soft" style="margin-top: 10px; font-size: 13px; line-height: 20px; color: #77716a">${othersText(others)}</div>`
      : "";
  return `
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin-top: 14px; border-collapse: collapse; font-size: 14px; line-height: 20px">${rows.join("")}
      </table>${rest}`;
}

function othersText(others: number): string {
  return `and ${others.toLocaleString("en")} more`;
}

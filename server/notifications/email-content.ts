import type { Reader } from "./kinds/kind.ts";

export type EmailContent = {
  subject: string;
  text: string;
  html: string;
  headers?: Record<string, string>;
  /** Mail programs filter by it (RFC 2919). */
  list?: { id: { url: string; comment: string } };
  /** The ids of the message and of its thread, with angle brackets. */
  messageId?: string;
  references?: string;
  inReplyTo?: string;
  /** Shown within the HTML, which names them by their `cid`. */
  attachments?: {
    filename: string;
    content: Buffer;
    contentType: string;
    contentDisposition: "inline";
    cid: string;
  }[];
};

/** Who gets an email, where the links in it lead, and the picture of a report. */
export type EmailReader = Reader & { baseUrl: string; picture?: Uint8Array | null };

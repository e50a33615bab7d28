/** Whether the whole text is an HTTP(S) URL that can be opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
}

/** For links in events: the linked page gets no referrer and no handle on this window. */
export const externalLink = { target: "_blank", rel: "noopener noreferrer nofollow" } as const;

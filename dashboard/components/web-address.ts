/** Whether a text is as a whole the address of a web page, so that it can be opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
}

/** For a link to a page that an event names: it learns nothing of us. */
export const foreignLink = { target: "_blank", rel: "noopener noreferrer nofollow" } as const;

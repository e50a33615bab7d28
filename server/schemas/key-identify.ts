/** Whether a publishable key needs a signature to join an anonymous ID to a user. */
export const keyIdentifies = ["signed", "unsigned"] as const;
export type KeyIdentify = (typeof keyIdentifies)[number];

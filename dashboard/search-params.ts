// Query parameters are plain text: `?userId=42` is the text "42". The router's default would parse it as JSON.

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") params.set(key, value);
  }
  // As few escapes as possible, because people read and share these URLs.
  const text = params.toString().replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%40", "@");
  return text && `?${text}`;
}

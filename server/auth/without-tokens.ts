/**
 * A response of better-auth without the session's token. The cookie has it, and pages can't read that: a script that
 * somebody injects into a page would find the token in the response.
 */
export async function withoutTokens(response: Response): Promise<Response> {
  const text = await response.text();
  const body: unknown = text.startsWith("{") ? JSON.parse(text, leaveOutTokens) : null;
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(body === null ? text : JSON.stringify(body), { status: response.status, headers });
}

/** Columns that are not for responses, at any depth. */
function leaveOutTokens(key: string, value: unknown): unknown {
  return key === "token" || key === "credentialEpoch" ? undefined : value;
}

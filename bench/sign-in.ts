/** Signs in to an account. Returns the headers of its requests with a JSON body, which come from the server's own origin. */
export async function signIn(
  origin: string,
  email: string,
  password: string,
): Promise<Record<string, string>> {
  const headers = { origin, "content-type": "application/json" };
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: "POST",
    headers,
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`Sign-in answered ${response.status}: ${await response.text()}`);
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(";")[0]);
  return { ...headers, cookie: cookies.join("; ") };
}

/** Opens a live stream, whose events are read and discarded until the signal is aborted. */
export async function openStream(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(url, { headers, signal });
  if (response.status !== 200)
    throw new Error(`The stream answered ${response.status}: ${await response.text()}`);
  void discard(response.body!);
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // The measurement is over.
  }
}

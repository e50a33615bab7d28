/** FNV-1a, mixed once more, because names often differ in their last letter only. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 16;
  return Math.imul(hash, 0x45d9f3b) >>> 0;
}

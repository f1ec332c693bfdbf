/** Joins the text of all chat chunks. Works only for text without JSON escapes. */
export function chatStreamText(stream: string): string {
  return [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, text = '']) => text).join('');
}

/** The text in a stream of chat chunks so far, in however many pieces it came. For replies that need no escapes. */
export function chatStreamText(stream: string): string {
  return [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, text = '']) => text).join('');
}

/** Reads a reply until `isEnough`, and returns the text so far. Rejects when the reply ends before. */
export async function readUntil({ body, status }: Response, isEnough: (text: string) => boolean): Promise<string> {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!isEnough(text)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the reply (${status}) ended with ${JSON.stringify(text.slice(-500))}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}

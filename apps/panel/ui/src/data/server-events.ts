/** One server-sent event. */
export interface ServerEvent {
  /** `message` without a name of its own. */
  name: string;
  data: string;
}

/** Reads the body of a reply as server-sent events. Leaving the loop ends the reply. */
export function readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  return parseEvents(readTexts(body));
}

/** Parses the pieces of a stream of events. Comments and an event that is cut off are left out. */
export async function* parseEvents(texts: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let rest = '';
  for await (const text of texts) {
    const events = (rest + text).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = readFields(event, 'data');
      if (data.length > 0) yield { name: readFields(event, 'event')[0] ?? 'message', data: data.join('\n') };
    }
  }
}

function readFields(event: string, name: string): string[] {
  const start = `${name}: `;
  return event.split('\n').flatMap((line) => (line.startsWith(start) ? line.slice(start.length) : []));
}

async function* readTexts(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** One server-sent event. */
export interface ServerEvent {
  name: string | null;
  data: string;
}

/** Reads server-sent events. An event that lacks its blank line at the end was cut, and does not count. */
export function readEvents(text: string): ServerEvent[] {
  const whole = text.replaceAll('\r\n', '\n');
  const blocks = whole.split('\n\n');
  blocks.pop();
  return blocks.flatMap((block) => {
    const lines = block.split('\n');
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''));
    const name =
      lines
        .find((line) => line.startsWith('event:'))
        ?.slice(6)
        .trim() ?? null;
    return data.length === 0 ? [] : [{ name, data: data.join('\n') }];
  });
}

export function writeEvent(data: object | string, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of other programs is read field by field
export type Json = any;

/** Parses JSON, or returns undefined. */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

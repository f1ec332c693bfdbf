/** Renders a JSON log line for people: time of day (UTC), level, service, message and the other fields; below it the stack of an error. */
export function prettyLine(json: string): string {
  const { level, time, service, msg, err, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const clockTime = String(time).slice('2026-01-01T'.length, -1);
  const head = `${clockTime} ${String(level).toUpperCase().padEnd(5)} ${service}  ${msg}`;
  return [`${printable(head)}  ${renderFields(fields)}`.trimEnd(), ...renderStack(err), ''].join('\n');
}

/** Renders `name=value` of each field. */
export function renderFields(fields: object): string {
  return printable(
    Object.entries(fields)
      .map(([name, value]) => `${name}=${typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)}`)
      .join(' '),
  );
}

function renderStack(err: unknown): string[] {
  if (typeof err !== 'object' || err === null) return [];
  const { stack, message } = err as { stack?: string; message?: string };
  return (stack || message || '').split('\n').map((line) => `    ${printable(line)}`);
}

/** Replaces control characters: they could control the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}

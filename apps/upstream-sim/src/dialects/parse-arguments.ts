/** Parses arguments, keeping every digit of their numbers. Arguments that were cut are not JSON and become an empty object. */
export function parseArguments(text: string): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  const keepDigits = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
    typeof value === 'number' ? rawJSON(source) : value;
  try {
    return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
  } catch {
    return {};
  }
}

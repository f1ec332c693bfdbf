import { stringify } from 'yaml';

type Values = Record<string, unknown>;

/**
 * Renders a template as Helm does. It knows the few forms that the generator of the chart uses and refuses all others, also a value that
 * does not exist, which Helm would print as `<no value>`.
 */
export function renderTemplate(template: string, values: Values, appVersion: string): string {
  const output: string[] = [];
  /** One entry for each open `if`: true while its lines are printed. */
  const open: boolean[] = [];
  for (const line of template.split('\n')) {
    const condition = /^\{\{- if (.+) \}\}$/.exec(line)?.[1];
    const block = /^\{\{- toYaml (\S+) \| nindent (\d+) \}\}$/.exec(line);
    if (condition !== undefined) open.push(isTrue(condition, values));
    else if (line === '{{- else }}') open.push(!open.pop());
    else if (line === '{{- end }}') open.pop();
    else if (open.includes(false)) continue;
    else if (block) output.push(indented(stringify(lookUp(block[1] ?? '', values)), Number(block[2])));
    else output.push(inline(line, values, appVersion));
  }
  if (open.length > 0) throw new Error('an `if` without `end`');
  return output.join('\n');
}

/** A path, `(or A B …)`, or `not` before one of them. */
function isTrue(condition: string, values: Values): boolean {
  if (condition.startsWith('not ')) return !isTrue(condition.slice(4), values);
  const alternatives = /^\(or ([^()]+)\)$/.exec(condition)?.[1]?.split(' ') ?? [condition];
  // As in Go: an empty list is false.
  return alternatives.map((path) => lookUp(path, values)).some((value) => (Array.isArray(value) ? value.length > 0 : Boolean(value)));
}

function inline(line: string, values: Values, appVersion: string): string {
  const text = line.replace(/\{\{ (\S+)( \| default \.Chart\.AppVersion)? \}\}/g, (_, path: string, hasDefault?: string) => {
    const value = lookUp(path, values);
    return String(hasDefault && value === '' ? appVersion : value);
  });
  if (text.includes('{{')) throw new Error(`not a form of this chart: ${line}`);
  return text;
}

function lookUp(path: string, values: Values): unknown {
  if (!/^\.Values(\.\w+)+$/.test(path)) throw new Error(`not a path: ${path}`);
  const found = path
    .split('.')
    .slice(2)
    .reduce<unknown>((within, key) => (within as Values | undefined)?.[key], values);
  if (found === undefined) throw new Error(`the values have no ${path}`);
  return found;
}

function indented(text: string, spaces: number): string {
  return text.trimEnd().replace(/^/gm, ' '.repeat(spaces));
}

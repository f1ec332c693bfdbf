/** Parses a `curl` command to a request. Throws on an unknown option. */
export function parseCurl(command: string, environment: Record<string, string>): { url: string; init: RequestInit } {
  const [, ...words] = splitWords(command, environment);
  const headers = new Headers();
  let url: string | undefined;
  let method: string | undefined;
  let body: string | undefined;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (['-s', '-N', '-i', '-sS', '--no-buffer', '--silent'].includes(word)) continue;
    if (!word.startsWith('-')) url = word;
    else if (word === '-H' || word === '--header') headers.append(...splitHeader(words.shift() ?? ''));
    else if (word === '-X' || word === '--request') method = words.shift();
    else if (word === '-d' || word === '--data') body = words.shift();
    else throw new Error(`documented-curl.ts does not know ${word}`);
  }
  if (url === undefined) throw new Error(`no address: ${command}`);
  // Default content type of curl.
  if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded');
  return { url, init: { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, ...(body !== undefined && { body }) } };
}

function splitHeader(header: string): [name: string, value: string] {
  const colon = header.indexOf(':');
  return [header.slice(0, colon), header.slice(colon + 1).trim()];
}

/** Splits words like a shell: both kinds of quotes, variables outside of single quotes; stops at a pipe. */
function splitWords(command: string, environment: Record<string, string>): string[] {
  const [asked = ''] = command.split(/ \| /);
  return [...asked.matchAll(/(?:'[^']*'|"(?:\\.|[^"])*"|[^\s'"]+)+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"((?:\\.|[^"])*)"|[^'"]+/g, (piece, single?: string, double?: string) => {
      if (single !== undefined) return single;
      return (double ?? piece).replace(/\\(.)/g, '$1').replace(/\$\{?(\w+)\}?/g, (_, name: string) => environment[name] ?? '');
    }),
  );
}

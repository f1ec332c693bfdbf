import { closed, DocumentSchemas } from '#testing/document-schemas.js';

interface Operation {
  parameters?: { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { examples: Record<string, { value: object }> }> };
  responses: Record<string, ResponseDescription | { $ref: string }>;
}

interface ResponseDescription {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, object>;
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, ResponseDescription>; headers: Record<string, { required?: boolean; schema: { type: string } }> };
}

export interface ReadReply {
  status: number;
  /** JSON of a plain reply, or of each event; `[DONE]` stays a string. */
  body?: unknown;
  events?: unknown[];
  /** Differences from the document; an undocumented field is one. */
  faults: string[];
}

/** Checks replies of a gateway against its own OpenAPI document. */
export class DescribedReplies {
  private readonly schemas: DocumentSchemas;

  constructor(readonly document: OpenApi) {
    this.schemas = new DocumentSchemas(closed(document));
  }

  static async of(gatewayUrl: string): Promise<DescribedReplies> {
    return new DescribedReplies((await (await fetch(`${gatewayUrl}/openapi.json`)).json()) as OpenApi);
  }

  /** Reads and checks a reply of `url`. The method defaults to the only operation of the path. */
  async read(url: string, response: Response): Promise<ReadReply> {
    const { status, headers } = response;
    const text = await response.text();
    const [path, method, operation] = this.operationAt(url);
    const found = operation.responses[status];
    if (found === undefined) return { status, faults: [`${status} is not described at ${path}: ${text}`] };
    const name = '$ref' in found ? found.$ref.split('/').at(-1) : undefined;
    const place = name === undefined ? ['paths', path, method, 'responses', String(status)] : ['components', 'responses', name];
    const description = name === undefined ? (found as ResponseDescription) : this.document.components.responses[name];
    const faults = this.headerFaults(description?.headers ?? {}, headers);
    const mediaType = headers.get('content-type')?.split(';')[0] ?? '';
    if (description?.content === undefined) return { status, faults: text === '' ? faults : [...faults, `a body: ${text}`] };
    if (description.content[mediaType] === undefined) return { status, faults: [...faults, `${mediaType} is not described`] };
    const schema = [...place, 'content', mediaType, 'schema'];
    if (mediaType !== 'text/event-stream') {
      const body: unknown = JSON.parse(text);
      return { status, body, faults: [...faults, ...this.schemas.faults(body, ...schema)] };
    }
    const events = readEvents(text);
    for (const { name, data } of events) {
      faults.push(...this.schemas.faults(data, ...schema).map((fault) => `${fault}: ${JSON.stringify(data)}`));
      if (name !== undefined && name !== (data as { type: string }).type) faults.push(`event ${name} with data ${JSON.stringify(data)}`);
    }
    return { status, events: events.map(({ data }) => data), faults };
  }

  private operationAt(url: string): [path: string, method: string, operation: Operation] {
    const { pathname } = new URL(url);
    for (const [path, methods] of Object.entries(this.document.paths)) {
      const [entry] = Object.entries(methods);
      if (entry && new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)) return [path, ...entry];
    }
    throw new Error(`The document has nothing at ${pathname}.`);
  }

  private headerFaults(described: Record<string, { $ref: string }>, headers: Headers): string[] {
    return Object.entries(described).flatMap(([name, { $ref }]) => {
      const component = $ref.split('/').at(-1) ?? '';
      const sent = headers.get(name);
      // The headers for tokens are optional: only a limit of tokens sends them. A stream begins before its cost is known.
      const isOptional =
        /Tokens/.test(component) || (component === 'Cost' && /^text\/event-stream/.test(headers.get('content-type') ?? ''));
      if (sent === null) return isOptional ? [] : [`the header ${name} is missing`];
      const value = this.document.components.headers[component]?.schema.type === 'integer' ? Number(sent) : sent;
      return this.schemas.faults(value, 'components', 'headers', component, 'schema').map((fault) => `${name}: ${fault}`);
    });
  }
}

function readEvents(stream: string): { name?: string; data: unknown }[] {
  const blocks = stream.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  return blocks.map((block) => {
    const [, name, data = ''] = /^(?:event: (.*)\n)?data: ([^\n]*)$/.exec(block) ?? [];
    return { ...(name !== undefined && { name }), data: data === '[DONE]' ? data : JSON.parse(data) };
  });
}

import { readFileSync } from 'node:fs';
import { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from './adapters.js';
import type { ProtocolName } from './protocol-adapter.js';

/** Checks the table of fields in docs/protocols.md against the parsers and the types of the vendors' SDKs. */

type Outcome = 'honoured' | 'repeated' | 'ignored' | 'refused';

interface Row {
  format: ProtocolName;
  field: string;
  example: string;
  outcome: Outcome;
  /** True for a field, or a value of one, that is not of the format's own vendor. */
  isForeign: boolean;
}

const ROW = /^\| (chat|responses|messages) \| `([a-z_]+)` \| `(.+?)` \| (honoured|repeated|ignored|refused) \| (other servers)?/gm;
const rows = [...readFileSync('docs/protocols.md', 'utf8').matchAll(ROW)].map(
  ([, format, field, example, outcome, foreign]) => ({ format, field, example, outcome, isForeign: foreign !== undefined }) as Row,
);

const MINIMAL: Record<ProtocolName, Record<string, unknown>> = {
  chat: { model: 'sim-fast', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'sim-fast', input: 'Hi' },
  messages: { model: 'sim-fast', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] },
};
const FUNCTION = { name: 'f', parameters: { type: 'object' } };
const TOOLS: Record<ProtocolName, unknown[]> = {
  chat: [{ type: 'function', function: FUNCTION }],
  responses: [{ type: 'function', ...FUNCTION }],
  messages: [{ name: 'f', input_schema: FUNCTION.parameters }],
};

/** Returns a body in which the field has an effect. */
function makeContext({ format, field }: Row): Record<string, unknown> {
  if (field === 'tool_choice' || field === 'parallel_tool_calls') return { ...MINIMAL[format], tools: TOOLS[format] };
  return format === 'chat' && field === 'stream_options' ? { ...MINIMAL.chat, stream: true } : MINIMAL[format];
}

/** Returns the canonical request and the options of the reply, without the end user and the attribution: neither changes a reply. */
function parse(format: ProtocolName, body: object): { request: string; reply: string } {
  const { request, attribution: _, ...reply } = ADAPTERS[format].parseRequest(body);
  return { request: JSON.stringify({ ...request, endUser: undefined }), reply: JSON.stringify(reply) };
}

test.each(rows)('$format: $field $example is $outcome [unknown-fields, client-fields]', (row) => {
  const { format, field, example, outcome } = row;
  const context = makeContext(row);
  const body = { ...context, [field]: JSON.parse(example) };
  if (outcome === 'refused') {
    expect(() => parse(format, body)).toThrow(GatewayError);
    const named = expect.stringMatching(new RegExp(`^${field}(\\.|$)`));
    expect(() => parse(format, body)).toThrow(expect.objectContaining({ status: 400, param: named }));
    return;
  }
  const [before, after] = [parse(format, context), parse(format, body)];
  const changes = { request: before.request !== after.request, reply: before.reply !== after.reply };
  switch (outcome) {
    case 'honoured':
      expect(changes.request || changes.reply).toBe(true);
      break;
    case 'repeated':
      expect(changes).toEqual({ request: false, reply: true });
      break;
    case 'ignored':
      expect(changes).toEqual({ request: false, reply: false });
  }
});

/** Fields of a body according to the types of the SDKs. Three documented fields of messages are only in older types. */
const DOCUMENTED: Record<ProtocolName, string[]> = {
  chat: readFields('openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase'),
  responses: readFields('openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase'),
  messages: [
    ...['temperature', 'top_p', 'top_k'],
    ...readFields('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'),
    // `betas` is a header.
    ...readFields('@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase').filter(
      (field) => field !== 'betas',
    ),
  ],
};

function readFields(file: string, name: string): string[] {
  const [, body = ''] =
    new RegExp(`^export interface ${name} \\{$([^]*?)^\\}$`, 'm').exec(readFileSync(`node_modules/${file}`, 'utf8')) ?? [];
  return [...body.matchAll(/^ {4}([a-z_]+)\??:/gm)].flatMap(([, field]) => field ?? []);
}

test.each(Object.keys(DOCUMENTED) as ProtocolName[])('the table has every documented field of %s once [C-8]', (format) => {
  const documented = [...new Set(DOCUMENTED[format])].sort();
  expect(documented.length).toBeGreaterThan(20);
  expect(
    rows
      .filter((row) => row.format === format && !row.isForeign)
      .map(({ field }) => field)
      .sort(),
  ).toEqual(documented);
});

import { describeType, escapeMarkup, renderSchemas, type Schema } from './schema-table.ts';

/** Parts of an AsyncAPI document that the site shows. */
export interface AsyncApi {
  info: { description: string };
  channels: Record<string, Channel>;
  operations: Record<string, Operation>;
  components: { schemas: Record<string, Schema> };
}

interface Channel {
  address: string | null;
  messages: Record<string, { payload?: Schema; $ref?: string }>;
}

interface Operation {
  action: 'receive' | 'send';
  summary?: string;
  description?: string;
  channel: { $ref: string };
  reply?: { channel: { $ref: string } };
  'x-callers'?: string[];
}

/** Renders a page of every subject of NATS with its callers, its messages and their fields. */
export function renderNatsReference(document: AsyncApi): string {
  const operations = Object.values(document.operations).map((operation) => renderOperation(operation, document.channels));
  return [
    `# Messages over NATS\n\n${escapeMarkup(document.info.description)}\n\nThe document: [asyncapi.yaml](/asyncapi.yaml).`,
    '## Subjects',
    ...operations,
    '## Schemas',
    renderSchemas(document.components.schemas),
    '',
  ].join('\n\n');
}

function renderOperation({ action, summary, description, channel, reply, ...rest }: Operation, channels: Record<string, Channel>): string {
  const find = ({ $ref }: { $ref: string }) => channels[$ref.split('/').at(-1) ?? ''];
  const asked = find(channel);
  const answered = reply && find(reply.channel);
  return [
    `### \`${asked?.address}\``,
    escapeMarkup([summary && `${summary}.`, description].filter(Boolean).join(' ')),
    [
      `- ${action === 'receive' ? 'Request' : 'Event'}: ${describeMessages(asked)}`,
      ...(answered ? [`- Reply: ${describeMessages(answered)}`] : []),
      ...(rest['x-callers'] ? [`- Callers: ${rest['x-callers'].map((user) => `\`${user}\``).join(', ')}`] : []),
    ].join('\n'),
  ].join('\n\n');
}

function describeMessages(channel: Channel | undefined): string {
  const payloads = Object.values(channel?.messages ?? {}).flatMap(({ payload }) => (payload ? [describeType(payload)] : []));
  return payloads.join(' or ') || 'see the document';
}

/** The types of NATS: schemas for the generator, and which of them each subject has. */

interface Reference {
  $ref: string;
}
interface Channel {
  address: string | null;
  messages: Record<string, { payload?: Reference | object }>;
}
interface Operation {
  action: 'receive' | 'send';
  summary: string;
  channel: Reference;
  reply?: { channel: Reference };
  'x-recorded'?: boolean;
  'x-for-services'?: boolean;
}
interface AsyncApi {
  channels: Record<string, Channel>;
  operations: Record<string, Operation>;
  components: { schemas: Record<string, object> };
}

/** Returns the schemas of the messages, and a file of TypeScript with the request and the reply of each subject. */
export function natsTypes({ channels, operations, components }: AsyncApi): { schemas: Record<string, object>; subjects: string } {
  const schemas = { ...components.schemas };
  const payloadName = (channel: string, message: string): string => {
    const payload = channels[channel]?.messages[message]?.payload;
    if (payload === undefined) throw new Error(`the channel ${channel} has no ${message}`);
    if ('$ref' in payload) return lastPart(payload as Reference);
    const name = channel.charAt(0).toUpperCase() + channel.slice(1);
    schemas[name] = payload; // written in its place, so without a name
    return name;
  };
  const lines = Object.values(operations).flatMap(({ action, summary, channel, reply, ...flags }) => {
    const name = lastPart(channel);
    const address = channels[name]?.address;
    if (action !== 'receive' || reply === undefined || !address) return [];
    const types = `{ request: Schemas['${payloadName(name, 'request')}']; reply: Schemas['${payloadName(lastPart(reply.channel), 'reply')}'] }`;
    const own = flags['x-for-services'] ? [] : [`  '${address}': ${types};`];
    // A recorded change, and a subject for services, has a subject for each user, which only that user may call.
    const ofUser = flags['x-recorded'] || flags['x-for-services'] ? [`  [subject: \`${address}.by.\${string}\`]: ${types};`] : [];
    return [`  /** ${summary} */`, ...own, ...ofUser];
  });
  const head = "import type { components } from './schema.js';\n\ntype Schemas = components['schemas'];\n";
  return {
    schemas,
    subjects: `${head}\n/** The request and the reply of each subject. */\nexport interface Subjects {\n${lines.join('\n')}\n}\n`,
  };
}

function lastPart({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

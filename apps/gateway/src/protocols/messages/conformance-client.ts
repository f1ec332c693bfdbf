import type { SseFrame, StreamedReply } from '../../../test/conformance/conformance.js';

interface Event {
  type: string;
  message?: Message;
  index?: number;
  content_block?: Block;
  delta?: { type?: string; text?: string; thinking?: string; partial_json?: string; stop_reason?: unknown; stop_sequence?: unknown };
  usage?: Usage;
  error?: { type: string; message: string };
}

interface Message {
  content: unknown[];
  stop_reason: unknown;
  stop_sequence: unknown;
  usage: Usage;
}

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

type Usage = Record<'input_tokens' | 'cache_creation_input_tokens' | 'cache_read_input_tokens' | 'output_tokens', number>;

/**
 * A strict client of the format. It joins the events of a stream, and throws when the stream breaks a rule of the format. A text or
 * thinking block without content is a keep-alive and not part of the reply.
 */
export function readStream(frames: readonly SseFrame[]): StreamedReply {
  const events = frames.map(asEvent);
  const last = events.at(-1);
  const joiner = new Joiner();
  if (last?.type === 'error') {
    for (const event of events.slice(0, -1)) joiner.add(event);
    demand(!joiner.ended, 'no error follows a complete message');
    demand(typeof last.error?.type === 'string' && typeof last.error.message === 'string', 'an error has a type and a message [M-27]');
    return { error: last.error };
  }
  for (const event of events) joiner.add(event);
  demand(joiner.ended, 'a complete message ends with message_stop [messages-event-stop, M-22]');
  return { reply: joiner.message };
}

function asEvent({ event, data }: SseFrame): Event {
  const parsed: Event = JSON.parse(data);
  demand(event !== undefined && parsed.type === event, 'every event has its name twice [messages-event-names, H-7]');
  return parsed;
}

class Joiner {
  message: Message | undefined;
  ended = false;
  private index = -1;
  private block: Block | undefined;
  private inputText = '';
  private hasDelta = false;

  add(event: Event): void {
    demand(!this.ended, 'nothing follows message_stop');
    demand((event.type === 'message_start') === (this.message === undefined), 'message_start comes first and once [messages-event-start]');
    demand(!this.hasDelta || event.type === 'message_stop' || event.type === 'ping', 'only message_stop follows message_delta');
    switch (event.type) {
      case 'message_start':
        this.start(event.message);
        break;
      case 'ping':
        break;
      case 'content_block_start':
        this.openBlock(event);
        break;
      case 'content_block_delta':
        this.addDelta(event);
        break;
      case 'content_block_stop':
        this.closeBlock(event);
        break;
      case 'message_delta':
        this.endMessage(event);
        break;
      case 'message_stop':
        demand(this.hasDelta, 'message_delta precedes message_stop');
        this.ended = true;
        break;
      default:
        throw new Error(`Broken rule: no events are invented: ${event.type} [M-28, T-37]`);
    }
  }

  private start(message: Message | undefined): void {
    demand(message !== undefined && Array.isArray(message.content) && message.content.length === 0, 'content starts as [] [M-20]');
    demand(message?.stop_reason === null && message.stop_sequence === null, 'a message starts without a reason to stop');
    demand(
      isUsage(message?.usage) && Object.values(message.usage).every((count) => count === 0),
      'usage starts as zeros [messages-event-start, M-20, T-23]',
    );
    this.message = message;
  }

  private openBlock({ index, content_block }: Event): void {
    demand(this.block === undefined, 'one block is open at a time [messages-event-blocks, M-24, T-21]');
    demand(index === ++this.index, 'indexes are 0, 1, 2 … [M-24, T-21]');
    const expected: Record<string, Block> = {
      text: { type: 'text', text: '' },
      thinking: { type: 'thinking', thinking: '', signature: '' },
      tool_use: { type: 'tool_use', id: content_block?.id, name: content_block?.name, input: {} },
    };
    demand(
      JSON.stringify(content_block) === JSON.stringify(expected[content_block?.type ?? '']),
      'a block starts empty with all its fields [M-23, M-26]',
    );
    demand(content_block?.type !== 'tool_use' || /^[A-Za-z0-9_-]+$/.test(content_block.id ?? ''), 'ids are safe [M-13]');
    demand(content_block?.type !== 'thinking' || index === 0, 'thinking comes first [messages-block-order]');
    this.block = content_block;
    this.inputText = '';
  }

  private addDelta({ index, delta }: Event): void {
    const { block } = this;
    demand(block !== undefined && index === this.index, 'a delta belongs to the open block');
    if (block?.type === 'text') block.text += readPiece(delta, 'text_delta', delta?.text);
    if (block?.type === 'thinking') block.thinking += readPiece(delta, 'thinking_delta', delta?.thinking);
    if (block?.type === 'tool_use') this.inputText += readPiece(delta, 'input_json_delta', delta?.partial_json);
  }

  private closeBlock({ index }: Event): void {
    const { block } = this;
    demand(block !== undefined && index === this.index, 'a stop is of the open block, and comes once [M-24]');
    if (block?.type === 'tool_use') {
      block.input = JSON.parse(this.inputText);
      demand(typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input), 'an input is an object [M-26]');
    }
    if (block?.text !== '' && block?.thinking !== '') this.message?.content.push(block);
    this.block = undefined;
  }

  private endMessage({ delta, usage }: Event): void {
    demand(this.block === undefined, 'every block is closed');
    demand(isUsage(usage), 'message_delta has all four counts [messages-event-delta, M-21, T-23]');
    demand(typeof delta?.stop_reason === 'string' && delta.stop_sequence === null, 'there is a reason to stop');
    Object.assign(this.message ?? {}, delta, { usage });
    this.hasDelta = true;
  }
}

function readPiece(delta: Event['delta'], type: string, piece: string | undefined): string {
  demand(
    delta?.type === type && typeof piece === 'string' && Object.keys(delta).length === 2,
    'a delta is of the kind of its block [messages-event-blocks, M-23]',
  );
  return piece ?? '';
}

function isUsage(usage: Usage | undefined): usage is Usage {
  const names = 'input_tokens,cache_creation_input_tokens,cache_read_input_tokens,output_tokens';
  return usage !== undefined && Object.keys(usage).join() === names && Object.values(usage).every(Number.isInteger);
}

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`Broken rule: ${rule}.`);
}

import { randomUUID } from 'node:crypto';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Tool } from '#inference/tool.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { HELD_LENGTH_MAX, NAME_LENGTH_MAX, overLimit, TOOL_CALLS_MAX } from './reply-limits.js';
import { WholeJson } from './whole-json.js';
import { WrappedInput } from './wrapped-input.js';

const ID_LENGTH_MAX = 256;

/** A delta of a call as upstreams send it; any field may be missing. */
interface ToolCallPiece {
  index?: number;
  id?: string;
  name?: string;
  argumentsText?: string;
  /** The delta is one of several in a list, so it is a call of its own unless its fields say otherwise. */
  amongOthers?: boolean;
  /** The text is the input of a custom tool itself, not JSON that wraps it: the dialect has custom calls. */
  raw?: boolean;
}

interface OpenCall {
  wireIndex: number | undefined;
  wireId: string;
  name: string;
  argumentsText: string;
  /** Canonical index; undefined until the call has been announced. */
  index: number | undefined;
  tool: Tool | undefined;
  raw: boolean;
  ended: boolean;
  /** Set for a custom tool that the upstream sees as a function. */
  wrapped: WrappedInput | undefined;
  json: WholeJson;
}

/**
 * Assembles tool calls from deltas, whatever upstreams leave out, repeat or reorder. Its events have indexes in order of start, unique
 * ids, final names, and `{}` for missing arguments.
 */
export class ToolCallAssembler {
  /** Calls that have been announced. */
  announced = 0;
  private readonly calls: OpenCall[] = [];
  private readonly byWireIndex = new Map<number, OpenCall>();
  private readonly ids = new Set<string>();
  private readonly tools: Map<string, Tool>;

  constructor(tools: readonly Tool[]) {
    this.tools = new Map(tools.map((tool) => [tool.wireName, tool]));
  }

  /** Calls of which any delta has come. */
  get count(): number {
    return this.calls.length;
  }

  push(piece: ToolCallPiece, events: StreamEvent[]): void {
    const call = this.find(piece) ?? this.add(piece, events);
    call.wireId ||= piece.id ?? '';
    if (piece.name && call.index === undefined) call.name = mergeName(call.name, piece.name);
    const text = call.ended ? '' : (piece.argumentsText ?? '');
    call.argumentsText += text;
    if (text !== '') call.json.push(text);
    if (call.index !== undefined) this.pass(call, text, events);
    else if (call.name !== '' && call.argumentsText !== '' && (!piece.name || this.tools.has(call.name))) {
      this.start(call, events);
    }
    this.assertHeld(call);
  }

  /** Call when the upstream says that this call is complete. Later deltas of it are dropped. */
  endAt(index: number, events: StreamEvent[]): void {
    const call = this.byWireIndex.get(index);
    if (call !== undefined && call.name !== '') this.finish(call, events);
  }

  /** Announces the remaining calls and ends every call. Call at the end of the reply. */
  end(events: StreamEvent[]): void {
    for (const call of this.calls) {
      if (call.name === '' && call.argumentsText === '') continue; // an empty call
      if (call.name === '') throw new UpstreamFailure('broken', 'upstream_error', { detail: 'tool call without a name' });
      this.finish(call, events);
    }
  }

  private find({ index, id, name, amongOthers }: ToolCallPiece): OpenCall | undefined {
    const known = index === undefined ? this.calls.at(-1) : this.byWireIndex.get(index);
    if (known === undefined) return undefined;
    const otherId = id !== undefined && known.wireId !== '' && id !== known.wireId;
    if (index === undefined && (otherId || (amongOthers && (id !== undefined || name !== undefined)))) return undefined;
    if (name === undefined) return known;
    if (otherId) return undefined;
    if (known.name === '') return known; // the name follows the arguments
    if (known.name !== name && known.index !== undefined) return undefined;
    if (known.name !== name && this.tools.has(known.name) && this.tools.has(name)) return undefined;
    return known.json.isWhole() ? undefined : known; // a name repeated or in parts, unless the call was complete
  }

  /** Limits text that is not passed on yet: no other limit covers it. */
  private assertHeld({ index, name, argumentsText, wrapped }: OpenCall): void {
    if (name.length > NAME_LENGTH_MAX) throw overLimit('characters of a name');
    const isHeld = index === undefined || wrapped?.isHeld;
    if (isHeld && argumentsText.length > HELD_LENGTH_MAX) throw overLimit('characters of a call');
  }

  private add({ index, id, raw = false }: ToolCallPiece, events: StreamEvent[]): OpenCall {
    if (this.calls.length >= TOOL_CALLS_MAX) throw overLimit('tool calls');
    // Ends complete calls now: some client formats send a call only when it has ended.
    for (const earlier of this.calls) if (earlier.name !== '' && !earlier.raw && earlier.json.isWhole()) this.finish(earlier, events);
    const call: OpenCall = {
      wireIndex: index,
      wireId: id ?? '',
      name: '',
      argumentsText: '',
      index: undefined,
      tool: undefined,
      raw,
      ended: false,
      wrapped: undefined,
      json: new WholeJson(),
    };
    this.calls.push(call);
    if (index !== undefined) this.byWireIndex.set(index, call);
    return call;
  }

  private start(call: OpenCall, events: StreamEvent[]): void {
    const tool = this.tools.get(call.name);
    const index = this.announced++;
    call.index = index;
    call.tool = tool;
    events.push({
      type: 'tool-call-start',
      index,
      callId: this.uniqueId(call.wireId),
      tool: tool?.key ?? { name: call.name.toWellFormed() },
      kind: kindOf(call),
    });
    if (isWrapped(call)) call.wrapped = new WrappedInput();
    this.pass(call, call.argumentsText, events);
  }

  private pass({ index = 0, wrapped }: OpenCall, piece: string, events: StreamEvent[]): void {
    const text = wrapped === undefined ? piece : wrapped.push(piece);
    if (text !== '') events.push({ type: 'tool-call-delta', index, text });
  }

  private finish(call: OpenCall, events: StreamEvent[]): void {
    if (call.ended) return;
    call.ended = true;
    if (call.index === undefined) this.start(call, events);
    const index = call.index ?? 0;
    const noArguments = call.argumentsText === '' && kindOf(call) === 'function';
    const text = call.wrapped?.end() ?? (noArguments ? '{}' : '');
    if (text !== '') events.push({ type: 'tool-call-delta', index, text });
    events.push({ type: 'tool-call-end', index });
  }

  private uniqueId(wireId: string): string {
    const usable = wireId !== '' && wireId.length <= ID_LENGTH_MAX;
    const base = usable ? wireId.toWellFormed() : `call_${randomUUID().replaceAll('-', '')}`;
    let id = base;
    for (let copy = 2; this.ids.has(id); copy++) id = `${base}_${copy}`;
    this.ids.add(id);
    return id;
  }
}

function kindOf({ tool, raw }: OpenCall): Tool['kind'] {
  return tool?.kind ?? (raw ? 'custom' : 'function');
}

/** True when the arguments are JSON that wraps the input of a custom tool. */
function isWrapped(call: OpenCall): boolean {
  return kindOf(call) === 'custom' && !call.raw;
}

/** Upstreams send a name once, repeated, as a growing prefix, or in parts. */
function mergeName(known: string, piece: string): string {
  if (piece === known) return known;
  return piece.startsWith(known) ? piece : known + piece;
}

import { randomUUID } from 'node:crypto';
import { signCallId } from '#inference/signed-call-id.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Tool } from '#inference/tool.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { CallArguments } from './call-arguments.js';
import { HELD_LENGTH_MAX, NAME_LENGTH_MAX, overLimit, TOOL_CALLS_MAX } from './reply-limits.js';
import { WrappedInput } from './wrapped-input.js';

const ID_LENGTH_MAX = 256;

/** A delta of a call as upstreams send it; any field may be missing. */
export interface ToolCallPiece {
  index?: number | undefined;
  id?: string | undefined;
  name?: string | undefined;
  argumentsText?: string | undefined;
  /** `argumentsText` is all of the arguments: they repeat or complete what has come. */
  whole?: boolean;
  /** The delta is one of several in a list, so it is a call of its own unless its fields say otherwise. */
  amongOthers?: boolean;
  /** The text is the input of a custom tool itself, not JSON that wraps it: the dialect has custom calls. */
  raw?: boolean;
  /** Signature of the reasoning that led to the call. */
  signature?: string | undefined;
}

interface OpenCall {
  wireIndex: number | undefined;
  wireId: string;
  signature: string | undefined;
  name: string;
  arguments: CallArguments;
  /** Arguments that can be passed on once the call has been announced. */
  unannounced: string;
  /** Canonical index; undefined until the call has been announced. */
  index: number | undefined;
  tool: Tool | undefined;
  raw: boolean;
  ended: boolean;
  /** Set for a custom tool that the upstream sees as a function. */
  wrapped: WrappedInput | undefined;
  /** Its name came again, without an id and without arguments: if arguments follow, they are of another call. */
  isNamedAgain: boolean;
  /** Its id has changed before its arguments were complete: the upstream makes an id for each delta. */
  changesId: boolean;
}

/**
 * Assembles tool calls from deltas, whatever upstreams leave out, repeat or reorder. Its events have indexes in order of start, unique
 * ids, final names, and `{}` for missing arguments.
 */
export class ToolCallAssembler {
  /** Calls that have been announced. */
  announced = 0;
  private droppedLength = 0;
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
    const { argumentsText = '', whole } = piece;
    if (call.ended) {
      this.droppedLength += argumentsText.length;
      if (this.droppedLength > HELD_LENGTH_MAX) throw overLimit('characters after the end of a call');
      return;
    }
    call.wireId ||= piece.id ?? '';
    if (piece.name && call.index === undefined) call.name = mergeName(call.name, piece.name);
    const added = whole ? call.arguments.pushWhole(argumentsText) : call.arguments.push(argumentsText);
    if (call.index !== undefined) this.pass(call, added, events);
    else {
      call.unannounced += added;
      if (call.name !== '' && !call.arguments.isBlank && (!piece.name || this.tools.has(call.name))) this.start(call, events);
    }
    assertHeld(call);
  }

  /** Call when the upstream says that this call is complete. Later deltas of it are dropped. */
  endAt(index: number, events: StreamEvent[]): void {
    const call = this.byWireIndex.get(index);
    if (call !== undefined && call.name !== '') this.finish(call, events);
  }

  /** Announces the remaining calls and ends every call. Call at the end of the reply. */
  end(events: StreamEvent[]): void {
    for (const call of this.calls) {
      if (call.name === '' && call.arguments.isBlank) continue; // an empty call
      if (call.name === '') throw new UpstreamFailure('broken', 'upstream_error', { detail: 'tool call without a name' });
      this.finish(call, events);
    }
  }

  /** Returns the call of a piece; undefined for a new one. Calls differ by index, id and name, not by what has come of them. */
  private find(piece: ToolCallPiece): OpenCall | undefined {
    const { index, id, name } = piece;
    const same =
      id === undefined ? undefined : this.calls.findLast((call) => call.wireId === id && (index ?? call.wireIndex) === call.wireIndex);
    if (same !== undefined && !this.isOtherName(same, name) && !(piece.amongOthers && index === undefined && isOtherCall(same, piece)))
      return same;
    const known = index === undefined ? this.calls.at(-1) : this.byWireIndex.get(index);
    if (known === undefined) return undefined;
    const hasOtherId = id !== undefined && known.wireId !== '' && id !== known.wireId;
    if (hasOtherId && index !== undefined && continues(known, piece)) known.changesId = true;
    const otherId = hasOtherId && !known.changesId;
    if (index === undefined && (otherId || (piece.amongOthers && (id !== undefined || name !== undefined)))) return undefined;
    if (name === undefined) return known.isNamedAgain && !isBlank(piece) ? undefined : known;
    if (otherId || this.isOtherName(known, name)) return undefined;
    return this.isNext(known, piece) ? undefined : known;
  }

  private isOtherName(known: OpenCall, name: string | undefined): boolean {
    if (name === undefined || known.name === '' || known.name === name) return false;
    return known.index !== undefined || (this.tools.has(known.name) && this.tools.has(name));
  }

  /** True when a piece that repeats the name of `known`, or brings a part of it, begins the next call of the same tool. */
  private isNext(known: OpenCall, piece: ToolCallPiece): boolean {
    const { arguments: args } = known;
    if (known.name === '' || args.isRepeating || !(known.ended || args.isWhole) || (args.isEmptyObject && !known.ended)) return false;
    if (!isBlank(piece) || (piece.id !== undefined && !known.changesId)) return true;
    known.isNamedAgain = true;
    return false;
  }

  private add({ index, id, name, raw = false, signature }: ToolCallPiece, events: StreamEvent[]): OpenCall {
    if (this.calls.length >= TOOL_CALLS_MAX) throw overLimit('tool calls');
    // Ends complete calls now: some client formats send a call only when it has ended.
    for (const earlier of this.calls) {
      if (earlier.name !== '' && earlier.arguments.isWhole && !earlier.arguments.isEmptyObject) this.finish(earlier, events);
    }
    const before = index === undefined ? this.calls.at(-1) : this.byWireIndex.get(index);
    const call: OpenCall = {
      wireIndex: index,
      wireId: id ?? '',
      signature,
      name: name === undefined && before?.isNamedAgain ? before.name : '',
      arguments: new CallArguments(raw),
      unannounced: '',
      index: undefined,
      tool: undefined,
      raw,
      ended: false,
      wrapped: undefined,
      isNamedAgain: false,
      changesId: false,
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
      callId: signCallId(this.uniqueId(call.wireId), call.signature),
      tool: tool?.key ?? { name: call.name.toWellFormed() },
      kind: findKind(call),
    });
    if (isWrapped(call)) call.wrapped = new WrappedInput();
    this.pass(call, call.unannounced, events);
    call.unannounced = '';
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
    this.pass(call, call.arguments.end(), events);
    const noArguments = call.arguments.isBlank && findKind(call) === 'function';
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

function findKind({ tool, raw }: OpenCall): Tool['kind'] {
  return tool?.kind ?? (raw ? 'custom' : 'function');
}

function isBlank({ argumentsText = '' }: ToolCallPiece): boolean {
  return argumentsText.trim() === '';
}

/** True when a piece with another id, at the index of `known`, can only go on with its arguments: they are not complete yet. */
function continues({ name, arguments: args, ended }: OpenCall, piece: ToolCallPiece): boolean {
  if (ended || args.isWhole || isBlank(piece) || (piece.name ?? name) !== name) return false;
  return args.isBlank || (!args.isEmptyObject && !/^\s*\{/.test(piece.argumentsText ?? ''));
}

/** True when a piece of a list has whole arguments that differ from those of `call`, although its id is the same. */
function isOtherCall(call: OpenCall, piece: ToolCallPiece): boolean {
  return call.arguments.isWhole && !isBlank(piece) && !call.arguments.repeats(piece.argumentsText ?? '');
}

/** Limits text that is not passed on yet: no other limit covers it. */
function assertHeld({ name, unannounced, wrapped, arguments: args }: OpenCall): void {
  if (name.length > NAME_LENGTH_MAX) throw overLimit('characters of a name');
  if (args.heldLength + unannounced.length + (wrapped?.heldLength ?? 0) > HELD_LENGTH_MAX) throw overLimit('characters of a call');
}

/** True when the arguments are JSON that wraps the input of a custom tool. */
function isWrapped(call: OpenCall): boolean {
  return findKind(call) === 'custom' && !call.raw;
}

/** Upstreams send a name once, repeated, as a growing prefix, or in parts. */
function mergeName(known: string, piece: string): string {
  if (piece === known) return known;
  return piece.startsWith(known) ? piece : known + piece;
}

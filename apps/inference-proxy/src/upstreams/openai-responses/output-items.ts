import { isObject } from '../replies/json-object.js';
import { ITEMS_MAX, overLimit } from '../replies/reply-limits.js';

/** One item of a response's output (a message, reasoning, a call) and its text so far. */
export interface OutputItem {
  /** Undefined while only deltas have come. */
  type: string | undefined;
  callId: string | undefined;
  /** Texts so far, by kind and part of the item. */
  said: Map<string, string>;
  /** Index among the calls. */
  callIndex: number | undefined;
  isNamed: boolean;
  isDone: boolean;
}

type Wire = Record<string, unknown>;

/**
 * Finds the item that an event of a Responses stream belongs to. Neither ids nor positions are reliable: some servers change an item's id
 * in every event, others give every item the same position. A known id decides, then a call's id at its position, then the position if
 * the item fits.
 */
export class OutputItems {
  private readonly all: OutputItem[] = [];
  private readonly byId = new Map<string, OutputItem>();
  private readonly byIndex = new Map<unknown, OutputItem>();

  /** Adds an announced item. */
  add(wire: Wire, index: unknown): OutputItem {
    return this.known(wire.id) ?? this.sameCall(index, wire) ?? this.open(wire.id, index, wire);
  }

  /** Returns the item of a delta or, given `wire`, of a complete item. Adds one if there is none. */
  find(id: unknown, index: unknown, wire?: Wire): OutputItem {
    const same = this.known(id) ?? this.sameCall(index, wire);
    let item = same ?? this.byIndex.get(index);
    if (item === undefined && id === undefined && index === undefined) item = this.all.at(-1);
    const isGuess = item !== same;
    if (item !== undefined && wire !== undefined && (!fits(item, wire) || (isGuess && item.isDone && !saidAll(item, wire))))
      item = undefined;
    item ??= this.open(id, index, wire);
    if (wire !== undefined) describe(item, wire);
    return item;
  }

  /** Returns the item of the final response; undefined when its text seems to have come under another id. */
  findAgain(wire: Wire, index: number): OutputItem | undefined {
    const same = this.known(wire.id) ?? this.all.find((item) => item.callId !== undefined && item.callId === wire.call_id);
    if (same !== undefined) return same;
    const there = this.byIndex.get(index);
    if (there === undefined) return this.open(wire.id, index, wire);
    if (fits(there, wire)) return there;
    return this.all.some(({ type }) => type === wire.type) ? undefined : this.open(wire.id, index, wire);
  }

  private known(id: unknown): OutputItem | undefined {
    return typeof id === 'string' ? this.byId.get(id) : undefined;
  }

  /** Returns the item at this position if it is a call with the id of this one. */
  private sameCall(index: unknown, wire: Wire | undefined): OutputItem | undefined {
    const there = this.byIndex.get(index);
    return there?.callId !== undefined && there.callId === wire?.call_id && fits(there, wire) ? there : undefined;
  }

  private open(id: unknown, index: unknown, wire?: Wire): OutputItem {
    const item: OutputItem = {
      type: undefined,
      callId: undefined,
      said: new Map(),
      callIndex: undefined,
      isNamed: false,
      isDone: false,
    };
    if (wire !== undefined) describe(item, wire);
    if (this.all.length >= ITEMS_MAX) throw overLimit('items');
    this.all.push(item);
    if (typeof id === 'string' && id !== '') this.byId.set(id, item);
    if (index !== undefined) this.byIndex.set(index, item);
    return item;
  }
}

/**
 * Returns part numbers of the item that are out of range, by kind of text. Some servers (vLLM) number the parts of all items
 * consecutively: such a number stands for the part that has no text under its own.
 */
export function strayNumbers({ said }: OutputItem, count: number): Map<string, number> {
  const stray = new Map<string, number>();
  for (const key of said.keys()) {
    const [channel = '', number] = key.split(' ');
    if ((Number(number) < 0 || Number(number) >= count) && !stray.has(channel)) stray.set(channel, Number(number));
  }
  return stray;
}

function describe(item: OutputItem, { type, call_id: callId }: Wire): void {
  if (typeof type === 'string') item.type ??= type;
  if (typeof callId === 'string' && callId !== '') item.callId ??= callId;
}

/** True for a message or reasoning whose texts are those that the item has said: the same item again, under another id. */
function saidAll({ said }: OutputItem, { summary, content }: Wire): boolean {
  const parts = [summary, content].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
  const texts = parts.map((part) => part.text ?? part.refusal);
  return texts.length > 0 && texts.length === said.size && [...said.values()].every((text) => texts.includes(text));
}

/** True when nothing contradicts that both are the same item. */
function fits(item: OutputItem, { type, call_id: callId }: Wire): boolean {
  return (item.type === undefined || item.type === type) && (item.callId === undefined || callId === undefined || item.callId === callId);
}

import { ITEMS_MAX, overLimit } from '../replies/reply-limits.js';

/** One item of a response's output (a message, reasoning, a call), and what has been said of it. */
export interface OutputItem {
  /** Unknown while only pieces of it have come. */
  type: string | undefined;
  callId: string | undefined;
  /** Texts so far, by what they are and which part of the item. */
  said: Map<string, string>;
  /** Its number among the calls. */
  callIndex: number | undefined;
  isNamed: boolean;
  isDone: boolean;
}

type Wire = Record<string, unknown>;

/**
 * Which item an event of a Responses stream belongs to. Ids and positions both lie: some servers give an item another id in
 * every event, some give every item the same position. An id that is known wins, then the position, if the item fits.
 */
export class OutputItems {
  private readonly all: OutputItem[] = [];
  private readonly byId = new Map<string, OutputItem>();
  private readonly byIndex = new Map<unknown, OutputItem>();

  /** An item is announced. */
  add(wire: Wire, index: unknown): OutputItem {
    return this.known(wire.id) ?? this.open(wire.id, index, wire);
  }

  /** The item a piece belongs to or, given `wire`, the item that is now complete; a new one if there is none. */
  find(id: unknown, index: unknown, wire?: Wire): OutputItem {
    let item = this.known(id) ?? this.byIndex.get(index);
    if (item === undefined && id === undefined && index === undefined) item = this.all.at(-1);
    const isGuess = item !== this.known(id);
    if (item !== undefined && wire !== undefined && (!fits(item, wire) || (isGuess && item.isDone))) item = undefined;
    item ??= this.open(id, index, wire);
    if (wire !== undefined) describe(item, wire);
    return item;
  }

  /** An item of the finished response; undefined when it seems to have been told under another name. */
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
 * Numbers under which texts of an item came in pieces although it has only `count` parts, by what the texts are. Some servers
 * number the parts of all items in one row (U-26): what has such a number is the part that was not told under its own.
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

/** Nothing speaks against their being the same. */
function fits(item: OutputItem, { type, call_id: callId }: Wire): boolean {
  return (item.type === undefined || item.type === type) && (item.callId === undefined || callId === undefined || item.callId === callId);
}

import { renderArguments } from '../replies/reply-limits.js';

type Json = Record<string, unknown>;

/** Finds tool calls that a plain message has twice: blocks have no index there, so a call with a known id and the same input is that call. */
export class RepeatedBlocks {
  private readonly firsts = new Map<string, { block: Json; position: number }>();

  /** Returns the position of the block, or of the first one that it repeats. */
  indexOf(block: Json, position: number): number {
    const { type, id, name, input } = block;
    if (type !== 'tool_use' || typeof id !== 'string' || id === '') return position;
    const first = this.firsts.get(id);
    if (first === undefined) this.firsts.set(id, { block, position });
    else if (first.block.name === name && renderArguments(first.block.input) === renderArguments(input)) return first.position;
    return position;
  }
}

import { invalidField } from '../body-fields/body-fields.js';

/**
 * Checks that the calls and results of a conversation belong together, which every upstream requires. An id may be used again once its call
 * has a result: some models number the calls of each turn from 0.
 */
export class CallPairs {
  /** Calls without a result, by id: the path of the id in the body, and the turn of the call. */
  private readonly open = new Map<string, { path: string; turn: number }>();
  private turn = 0;

  addCall(id: string, path: string): void {
    if (this.open.has(id)) throw invalidField(path, 'must differ from the ids of all calls that have no result yet');
    this.open.set(id, { path, turn: this.turn });
  }

  addResult(id: string, path: string): void {
    if (!this.open.delete(id)) throw invalidField(path, 'must be the id of an earlier tool call that has no result yet');
  }

  /** Call when a turn begins, except for results. */
  addTurn(): void {
    this.turn += 1;
  }

  /** Call at the end. Throws for a call that has no result although another turn follows it. */
  end(): void {
    for (const { path, turn } of this.open.values()) {
      if (turn < this.turn) throw invalidField(path, 'must have a result: a tool call without one is followed by another turn');
    }
  }
}

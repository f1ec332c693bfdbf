import { renderArguments } from './reply-limits.js';

/** A whole call, as upstreams send it. */
interface WholeCall {
  id?: unknown;
  name?: unknown;
  input?: unknown;
}

/** Finds whole tool calls that a reply has twice: they have no index, so a call with a known id and the same input is that call. */
export class RepeatedCalls {
  private readonly firsts = new Map<string, { call: WholeCall; position: number }>();

  /** Returns the position of the call, or of the first one that it repeats. */
  indexOf(call: WholeCall, position: number): number {
    const { id, name, input } = call;
    if (typeof id !== 'string' || id === '') return position;
    const first = this.firsts.get(id);
    if (first === undefined) this.firsts.set(id, { call, position });
    else if (first.call.name === name && renderArguments(first.call.input) === renderArguments(input)) return first.position;
    return position;
  }
}

import type { RuntimeValue } from '@informalsystems/quint/dist/src/runtime/impl/runtimeValue.js';
import { toPlain } from './plain-value.js';
import type { State } from './quint-model.js';

/** The states that were found, by number. A value that variables have in many states is kept once. */
export class StateStore {
  private readonly states: State[] = [];
  private readonly origins: (number | undefined)[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly valuesByText = new Map<string, Value>();
  private readonly known = new WeakMap<RuntimeValue, Value>();
  /** By state: the states that have a step to it. */
  private readonly predecessors: number[][] = [];

  constructor(private readonly keepsPredecessors: boolean) {}

  get size(): number {
    return this.states.length;
  }

  /** Adds a state unless it is known. `from`: the state that it was reached from first. */
  add(state: State, from: number | undefined): void {
    const values = state.map((value) => this.intern(value));
    const key = makeKey(values);
    let number = this.byKey.get(key);
    if (number === undefined) {
      number = this.states.push(values.map(({ value }) => value)) - 1;
      this.byKey.set(key, number);
      this.origins.push(from);
      if (this.keepsPredecessors) this.predecessors.push([]);
    }
    if (this.keepsPredecessors && from !== undefined) this.predecessors[number]?.push(from);
  }

  find(state: State): number | undefined {
    return this.byKey.get(makeKey(state.map((value) => this.intern(value))));
  }

  read(number: number): State {
    return this.states[number] as State;
  }

  origin(number: number): number | undefined {
    return this.origins[number];
  }

  /** Returns the first state from which none of `goals` can be reached. */
  findUnableToReach(goals: readonly number[]): number | undefined {
    const able = new Set(goals);
    for (const state of able) for (const before of this.predecessors[state] ?? []) able.add(before);
    const unable = this.states.findIndex((_, state) => !able.has(state));
    return unable === -1 ? undefined : unable;
  }

  private intern(value: State[number]): Value {
    const content = value.value as RuntimeValue;
    const known = this.known.get(content);
    if (known) return known;
    const text = JSON.stringify(toPlain(content));
    let interned = this.valuesByText.get(text);
    if (!interned) {
      interned = { number: this.valuesByText.size, value };
      this.valuesByText.set(text, interned);
    }
    this.known.set(content, interned);
    return interned;
  }
}

interface Value {
  number: number;
  value: State[number];
}

function makeKey(values: readonly Value[]): string {
  return values.map(({ number }) => number).join();
}

import type { RuntimeValue } from '@informalsystems/quint/dist/src/runtime/impl/runtimeValue.js';
import { type Plain, toPlain } from './plain-value.js';
import type { QuintModel, State, Step } from './quint-model.js';

/** A step in plain values, and the state after it by variable. */
export interface TraceStep {
  action: string;
  picks: Record<string, Plain>;
  state: Record<string, Plain>;
}

/** A life from its first state on. */
export interface Trace {
  begin: Record<string, Plain>;
  steps: TraceStep[];
}

export function traceStep(model: QuintModel, { action, picks, next }: Step): TraceStep {
  return {
    action,
    picks: Object.fromEntries(Array.from(picks, ([name, value]) => [name, toPlain(value)])),
    state: plainState(model, next),
  };
}

export function plainState({ variables }: QuintModel, state: State): Record<string, Plain> {
  return Object.fromEntries(state.map(({ value }, at) => [variables[at] as string, toPlain(value as RuntimeValue)]));
}

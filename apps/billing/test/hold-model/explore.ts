import type { Branch, QuintModel } from './quint-model.js';
import { StateStore } from './state-store.js';
import { type TraceStep, traceStep } from './trace.js';

/** Names of definitions of a model. */
export interface Question {
  init: string;
  step: string;
  /** Each must be true in every state. */
  invariants: readonly string[];
  /** Each must be true in some state; otherwise the bounds are too small to show it. */
  witnesses: readonly string[];
  /** From every state a state must be reachable in which it is true. Checked when all states were found. */
  ending?: string;
  /** Most steps from the first state. Infinity: all states. */
  depthMax: number;
}

export interface Answer {
  states: number;
  transitions: number;
  depth: number;
  /** True when no state was left out. */
  complete: boolean;
  /** Witnesses that are true in no state. */
  unseen: readonly string[];
  /** The first invariant that is not true, or the ending that cannot be reached, and one of the shortest ways to such a state. */
  broken?: { name: string; trace: readonly TraceStep[] };
}

/** Tries every order of steps, breadth first. */
export function explore(model: QuintModel, question: Question): Answer {
  const branches = model.listBranches(question.step);
  const invariants = question.invariants.map((name) => ({ name, isTrue: model.compilePredicate(name) }));
  const unseen = new Map(question.witnesses.map((name) => [name, model.compilePredicate(name)]));
  const isEnding = question.ending === undefined ? undefined : model.compilePredicate(question.ending);
  const store = new StateStore(isEnding !== undefined);
  const endings: number[] = [];
  const counts = { states: 0, transitions: 0, depth: 0, complete: false };
  const answer = (name?: string, state = 0): Answer => {
    const broken = name !== undefined && { broken: { name, trace: findTrace(model, branches, store, state) } };
    return { ...counts, states: store.size, unseen: [...unseen.keys()], ...broken };
  };
  /** Returns the first invariant that a state breaks. */
  const check = (state: number): string | undefined => {
    model.enter(store.read(state));
    for (const [name, isTrue] of unseen) if (isTrue()) unseen.delete(name);
    if (isEnding?.()) endings.push(state);
    return invariants.find(({ isTrue }) => !isTrue())?.name;
  };

  store.add(model.begin(question.init), undefined);
  for (let begin = 0; ; counts.depth++) {
    const end = store.size;
    for (let state = begin; state < end; state++) {
      const broken = check(state);
      if (broken !== undefined) return answer(broken, state);
    }
    counts.complete = begin === end;
    if (counts.complete || counts.depth === question.depthMax) break;
    for (; begin < end; begin++) {
      for (const { next } of model.listSteps(store.read(begin), branches)) {
        counts.transitions++;
        store.add(next, begin);
      }
    }
  }
  const stuck = counts.complete && isEnding ? store.findUnableToReach(endings) : undefined;
  return stuck === undefined ? answer() : answer(question.ending, stuck);
}

/** The store keeps no steps: finds those again that led to a state. */
function findTrace(model: QuintModel, branches: readonly Branch[], store: StateStore, last: number): TraceStep[] {
  const steps: TraceStep[] = [];
  for (let state = last, from = store.origin(state); from !== undefined; state = from, from = store.origin(state)) {
    for (const step of model.listSteps(store.read(from), branches)) {
      if (store.find(step.next) !== state) continue;
      steps.unshift(traceStep(model, step));
      break;
    }
  }
  return steps;
}

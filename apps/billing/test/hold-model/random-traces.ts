import { openHoldModel } from './hold-model.js';
import type { Plain } from './plain-value.js';
import type { Branch, QuintModel, State, Step } from './quint-model.js';
import type { ModelLedger } from './replay-trace.js';
import { plainState, type Trace, traceStep } from './trace.js';

type Random = (bound: number) => number;

const STEPS = 50;
const INITS = ['initThree', 'initBalance', 'initKey', 'initSession'];
const BEGUN = ['ask', 'deliver', 'generate', 'sendRenewal', 'deliver'];
const REAPED = ['crashGateway', 'tick', 'tick', 'reaperRound'];
/** Actions that a trace begins with, where they are enabled: chance alone seldom makes a refusal or a late settlement. */
const BEGINNINGS = [
  [],
  ['ask', 'ask', 'deliver', 'deliver', 'deliver', 'deliver'],
  [...BEGUN, 'generate', 'finish', ...REAPED],
  [...BEGUN, 'crashProxy', 'settleOwnCount', ...REAPED],
];
/** One of so many steps may be a crash, so that much else happens too. */
const CRASH_ONE_OF = 8;
/** A step that changes nothing, such as a message that arrives again, is taken after so many tries. */
const TRIES = 4;

/** Makes traces that are the same in each run, and says which actions and states they reach. */
export function makeTraces(count: number): { traces: Trace[]; reached: ReadonlySet<string> } {
  const model = openHoldModel();
  const traces = Array.from({ length: count }, (_, seed) => {
    const beginning = BEGINNINGS[Math.floor(seed / INITS.length) % BEGINNINGS.length] as string[];
    return makeTrace(model, INITS[seed % INITS.length] as string, beginning, makeRandom(seed));
  });
  return { traces, reached: new Set(traces.flatMap(describeTrace)) };
}

function makeTrace(model: QuintModel, init: string, beginning: readonly string[], random: Random): Trace {
  const branches = model.listBranches('step');
  const calm = branches.filter(({ action }) => !action.startsWith('crash'));
  let state = model.begin(init);
  const trace: Trace = { begin: plainState(model, state), steps: [] };
  const take = (enabled: readonly Branch[]): void => {
    const step = pickStep(model, state, enabled, random);
    if (!step) return;
    trace.steps.push(traceStep(model, step));
    state = step.next;
  };
  for (const wanted of beginning) take(branches.filter(({ action }) => action === wanted));
  while (trace.steps.length < STEPS) take(random(CRASH_ONE_OF) === 0 ? branches : calm);
  return trace;
}

function pickStep(model: QuintModel, state: State, branches: readonly Branch[], random: Random): Step | undefined {
  let step: Step | undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    step = model.pickStep(state, branches, random);
    if (step?.next.some(({ value }, at) => value !== state[at]?.value)) break;
  }
  return step;
}

function describeTrace({ steps }: Trace): string[] {
  const ledgers = steps.map(({ state }) => state.ledger as unknown as ModelLedger);
  const states = ledgers.flatMap(({ settlements }, at) =>
    Object.entries(settlements).flatMap(([id, { amount, cost, over, writtenOff, reaped, late }]) => [
      amount === 0 ? 'tombstone' : late ? 'settled late' : reaped ? 'reaped' : 'settled',
      ...(reaped && !late && cost > 0 ? ['reaped at a reading'] : []),
      ...(over > 0 ? ['over the hold'] : []),
      ...(writtenOff > 0 ? ['written off'] : []),
      ...(cost < (ledgers[at - 1]?.settlements[id]?.cost ?? 0) ? ['given back'] : []),
    ]),
  );
  const refused = steps.some(({ state }) =>
    Object.entries(state.requests as Requests).some(([id, { gateway }]) => gateway === 'done' && !hasEnded(state, id)),
  );
  return [...steps.map(({ action }) => action), ...states, ...(refused ? ['refused'] : [])];
}

type Requests = Record<string, { gateway: string }>;

function hasEnded(state: Record<string, Plain>, id: string): boolean {
  return id in (state.ledger as unknown as ModelLedger).settlements;
}

/** A linear congruential generator, by its upper bits. */
function makeRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
